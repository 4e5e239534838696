/** `npm run demo`: the main job on conversations, against a running plane or one of its own. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseMoney } from "@sessionplane/shared/money";
import { type Conversation, parseConversations } from "./demo/conversation.ts";
import { type SessionOutcome, runDemo } from "./demo/run.ts";
import { demoConversations } from "./demo/stories.ts";
import { table } from "./demo/terminal.ts";
import { readOptions, stopWith } from "./options.ts";
import { PLANE_FOLDER, PlaneError, freePort, startPlane } from "./plane.ts";
import { importPriceBook, priceBook } from "./price-book.ts";

const HELP = `
Provisions two tenants, imports conversations, reports usage, waits for the compactions and prints what came of it.
Uses the plane that npm start runs, or starts one of its own and stops it after.

  npm run demo -- [--data FILE]

  --data FILE  conversations to import, one JSON a line, in one of two shapes:
               {"task_id", "messages": [OpenAI chat messages]}
               {"message_tree_id", "prompt": {"message_id", "text", "role", "replies": […]}}
`;

const { values } = readOptions(HELP, { data: { type: "string" } });

function conversations(): readonly Conversation[] {
  if (values.data === undefined) return demoConversations;
  const file = resolve(values.data);
  if (!existsSync(file)) stopWith(`there is no file ${file}.`);
  try {
    return parseConversations(readFileSync(file, "utf8"));
  } catch (error) {
    return stopWith(`${file} could not be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type Running = { readonly url: string; readonly operatorKey: string; stop(): Promise<void> };

/** The plane of `npm start`, when it answers. */
async function runningPlane(): Promise<Running | null> {
  const file = join(PLANE_FOLDER, "dev.json");
  if (!existsSync(file)) return null;
  const { url, operator_key: operatorKey }: { url: string; operator_key: string } = JSON.parse(readFileSync(file, "utf8"));
  try {
    const response = await fetch(`${url}/v1/ready`, { signal: AbortSignal.timeout(5_000) });
    return response.ok ? { url, operatorKey, stop: async () => undefined } : null;
  } catch {
    return null;
  }
}

async function ownPlane(): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), "sessionplane-demo-"));
  const onStep = (text: string) => void process.stderr.write(`· ${text}\n`);
  const plane = await startPlane({
    port: await freePort(),
    state: join(folder, "state"),
    log: join(folder, "wrangler.log"),
    onStep,
  });
  onStep("filling the price book");
  await importPriceBook(plane.url, plane.operatorKey, priceBook(), false);
  const stop = async () => {
    await plane.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop().then(() => process.exit(130)));
  return { url: plane.url, operatorKey: plane.operatorKey, stop };
}

const costOf = ({ session }: SessionOutcome): bigint => parseMoney(session.usage.cost);

function print(outcomes: readonly SessionOutcome[]): void {
  const heads = ["tenant", "session", "messages", "tokens in", "tokens out", "cost USD", "compacted", "history", "facts kept"];
  const rows = outcomes.map((one) => [
    one.tenant,
    one.name.slice(0, 44),
    one.session.message_count,
    one.session.usage.input_tokens,
    one.session.usage.output_tokens,
    Number(costOf(one)) === 0 ? "0" : one.session.usage.cost.amount.slice(0, -3),
    one.before === 0 ? "–" : `${one.before} → ${one.after}`,
    one.session.token_estimate,
    one.facts === 0 ? "–" : `${one.kept}/${one.facts}`,
  ]);
  process.stdout.write(`\n${table(heads, rows)}\n`);
  const compacted = outcomes.filter((one) => one.before > 0);
  const messages = outcomes.reduce((sum, one) => sum + one.session.message_count, 0);
  const ends = new Map<string, number>();
  for (const job of outcomes.flatMap((one) => one.jobs)) ends.set(job.state, (ends.get(job.state) ?? 0) + 1);
  const jobs = [...ends].map(([state, count]) => `${count} ${state}`).join(", ") || "none";
  process.stdout.write(
    `\n${outcomes.length} sessions, ${messages} messages, ${compacted.length} sessions compacted; jobs: ${jobs}\n`,
  );
}

try {
  const data = conversations();
  const plane = (await runningPlane()) ?? (await ownPlane());
  try {
    print(await runDemo(plane.url, plane.operatorKey, data));
  } finally {
    await plane.stop();
  }
  process.exit(0);
} catch (error) {
  if (error instanceof PlaneError) stopWith(error.message);
  throw error;
}
