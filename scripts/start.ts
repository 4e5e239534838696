/** `npm start`: the whole plane on this machine. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { portOf, readOptions, stopWith } from "./options.ts";
import { PLANE_FOLDER, type Plane, PlaneError, startPlane } from "./plane.ts";
import { importPriceBook, priceBook } from "./price-book.ts";

const HELP = `
Starts the plane on this machine: all workers, with their state in a folder.

  npm start -- [--port N] [--state DIR]

  --port N     where the API listens (8787)
  --state DIR  the folder of the plane's data (.sessionplane/state)
`;

const { values } = readOptions(HELP, { port: { type: "string", default: "8787" }, state: { type: "string" } });
const port = portOf(values.port);
const state = resolve(values.state ?? join(PLANE_FOLDER, "state"));
const DEV_FILE = join(PLANE_FOLDER, "dev.json");

const step = (text: string): void => void process.stderr.write(`· ${text}\n`);

/** True when no price was ever recorded. */
async function isPriceBookEmpty({ url, operatorKey }: Plane): Promise<boolean> {
  const response = await fetch(`${url}/v1/prices?limit=1`, { headers: { Authorization: `Bearer ${operatorKey}` } });
  const { data }: { data: unknown[] } = await response.json();
  return data.length === 0;
}

async function fillPriceBook(plane: Plane): Promise<void> {
  if (!(await isPriceBookEmpty(plane))) return;
  step("filling the price book");
  const book = priceBook();
  const { created } = await importPriceBook(plane.url, plane.operatorKey, book, false);
  step(`${created} prices; ${book.notExpressed.length} of the source's can't be expressed (npm run prices lists them)`);
}

function announce({ url, operatorKey, process: child }: Plane): void {
  writeFileSync(DEV_FILE, `${JSON.stringify({ url, operator_key: operatorKey, pid: child.pid }, null, 2)}\n`, { mode: 0o600 });
  process.stdout.write(`
Sessionplane is ready.

  API            ${url}/v1
  documentation  ${url}/docs
  operator key   ${operatorKey}

  curl -H "Authorization: Bearer ${operatorKey}" ${url}/v1/me

Ctrl-C stops it; its data stays in ${state}
`);
}

let plane: Plane | undefined;
let stopping = false;

/** Ends the plane if it runs already; one that is still starting dies with this process. */
async function stop(code: number, why?: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  if (why !== undefined) process.stderr.write(`\nsessionplane: ${why}\n`);
  await plane?.stop();
  rmSync(DEV_FILE, { force: true });
  process.exit(code);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop(0));
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) void stop(0);
}, 500);

try {
  mkdirSync(PLANE_FOLDER, { recursive: true });
  const log = join(PLANE_FOLDER, `wrangler-${port}.log`);
  plane = await startPlane({ port, state, log, onStep: step });
  plane.process.on("exit", () => void stop(1, `the plane has stopped by itself; ${log} says why.`));
  await fillPriceBook(plane);
  announce(plane);
} catch (error) {
  if (error instanceof PlaneError) stopWith(error.message);
  throw error;
}
