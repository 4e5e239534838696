/** The demo itself: provision, import, report usage, wait for the compactions, tell what became of each session. */
import type { CompactionJob } from "@sessionplane/shared/compaction-job";
import type { Session } from "@sessionplane/shared/session";
import { type Call, caller, provisionTenant } from "./client.ts";
import { type Conversation, batches } from "./conversation.ts";
import { pathTokens } from "./path-tokens.ts";
import { progress } from "./terminal.ts";

/** Small, so that conversations of a few thousand tokens are compacted. */
export const SETTINGS = { compaction: { threshold: 3_000, keep_recent_tokens: 800 } };
const MODELS = [
  { name: "demo-north", provider: "openai", model: "gpt-4o" },
  { name: "demo-south", provider: "anthropic", model: "claude-sonnet-4-5" },
] as const;
const MESSAGES_PER_REQUEST = 10;
const EVENTS_PER_REQUEST = 100;
const WAIT_MS = 120_000;
const POLL_MS = 300;

export type SessionOutcome = {
  readonly tenant: string;
  readonly name: string;
  readonly session: Session;
  /** Tokens of the range and of the summary, and facts, over all of the session's compactions. */
  readonly before: number;
  readonly after: number;
  readonly facts: number;
  readonly kept: number;
  readonly jobs: readonly CompactionJob[];
};

type Imported = { readonly tenant: string; readonly call: Call; readonly id: string; readonly conversation: Conversation };

async function importOne(tenant: string, call: Call, conversation: Conversation): Promise<Imported> {
  const { id } = await call<{ id: string }>("POST", "/v1/sessions", { name: conversation.name, user_id: conversation.userId });
  for (const { messages, parentId } of batches(conversation, MESSAGES_PER_REQUEST)) {
    await call("POST", `/v1/sessions/${id}/messages`, { messages, ...(parentId === undefined ? {} : { parent_id: parentId }) });
  }
  return { tenant, call, id, conversation };
}

/** An estimated event for every assistant message: its own tokens out, those of the path above it in. */
function usageOf({ conversation }: Imported, model: (typeof MODELS)[number]): object[] {
  return pathTokens(conversation).flatMap(({ message, tokens, above }) => {
    if (message.role !== "assistant") return [];
    return [
      {
        id: `usage-${message.id}`,
        provider: model.provider,
        model: model.model,
        status: "estimated",
        message_id: message.id,
        usage: { inputTokens: above, outputTokens: tokens },
      },
    ];
  });
}

async function reportUsage(imported: Imported, model: (typeof MODELS)[number]): Promise<void> {
  const events = usageOf(imported, model);
  for (let at = 0; at < events.length; at += EVENTS_PER_REQUEST) {
    await imported.call("POST", `/v1/sessions/${imported.id}/usage`, { events: events.slice(at, at + EVENTS_PER_REQUEST) });
  }
}

/** The session once no job of it is open. */
async function settled({ call, id }: Imported): Promise<Session> {
  for (const deadline = Date.now() + WAIT_MS; ;) {
    const session = await call<Session>("GET", `/v1/sessions/${id}`);
    if (session.compaction.open_job_id === null) return session;
    if (Date.now() > deadline) throw new Error(`the compaction of ${id} did not end within ${WAIT_MS / 1000} seconds`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

async function outcomeOf(imported: Imported): Promise<SessionOutcome> {
  const session = await settled(imported);
  const { data: jobs } = await imported.call<{ data: CompactionJob[] }>(
    "GET",
    `/v1/sessions/${imported.id}/compaction-jobs?limit=100`,
  );
  const applied = jobs.filter((job) => job.state === "applied");
  const total = (count: (job: CompactionJob) => number) => applied.reduce((sum, job) => sum + count(job), 0);
  return {
    tenant: imported.tenant,
    name: imported.conversation.name,
    session,
    before: total((job) => job.tokens_before),
    after: total((job) => job.tokens_after ?? 0),
    facts: total((job) => job.retention?.facts ?? 0),
    kept: total((job) => job.retention?.kept ?? 0),
    jobs,
  };
}

/** Imports the conversations into two tenants, in turn. */
export async function runDemo(
  url: string,
  operatorKey: string,
  conversations: readonly Conversation[],
): Promise<SessionOutcome[]> {
  const operator = caller(url, operatorKey);
  const tenants = await Promise.all(
    MODELS.map(async (model) => ({ model, ...(await provisionTenant(operator, url, model.name, SETTINGS)) })),
  );
  const imported: { readonly session: Imported; readonly model: (typeof MODELS)[number] }[] = [];
  for (const [index, conversation] of conversations.entries()) {
    const tenant = tenants[index % tenants.length];
    if (tenant === undefined) continue;
    const session = await importOne(tenant.model.name, tenant.call, conversation);
    await reportUsage(session, tenant.model);
    imported.push({ session, model: tenant.model });
    progress("importing ", index + 1, conversations.length);
  }
  const outcomes: SessionOutcome[] = [];
  for (const { session } of imported) {
    outcomes.push(await outcomeOf(session));
    progress("compacting", outcomes.length, imported.length);
  }
  return outcomes;
}
