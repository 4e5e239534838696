/**
 * A local plane: all workers in one `wrangler dev` process over a state folder. Used by `npm start`, the
 * demo, the crash test and the benchmarks. Whatever goes wrong becomes a `PlaneError`, whose sentence says
 * what to do.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "..");
export const PLANE_FOLDER = join(ROOT, ".sessionplane");
const DEV_VARS = join(ROOT, "workers/api/.dev.vars");
const SCALAR_SOURCE = join(ROOT, "workers/api/node_modules/@scalar/api-reference/dist/browser/standalone.js");
const SCALAR_TARGET = join(ROOT, "workers/api/public/assets/scalar.js");
/** The API first: the first configuration owns the port. */
export const WORKERS = ["api", "session-do", "tenant-do", "compactor"] as const;

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 150;
const STOP_TIMEOUT_MS = 8_000;

export class PlaneError extends Error {
  override readonly name = "PlaneError";
}

export type Plane = {
  readonly url: string;
  readonly operatorKey: string;
  readonly process: ChildProcess;
  /** Stops every process of the plane. Safe to call twice. */
  stop(): Promise<void>;
};

export type PlaneOptions = {
  readonly port: number;
  readonly state: string;
  readonly log: string;
  readonly onStep?: (text: string) => void;
};

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const configOf = (worker: string): string => join("workers", worker, "wrangler.jsonc");

/** The key that makes the first tenants and keys: made once, kept where wrangler reads secrets from. */
export function operatorKey(): string {
  const present = existsSync(DEV_VARS)
    ? /^OPERATOR_KEY\s*=\s*"?([^"\s]+)"?/m.exec(readFileSync(DEV_VARS, "utf8"))?.[1]
    : undefined;
  if (present !== undefined) return present;
  const key = `spo_${randomBytes(32).toString("base64url")}`;
  appendFileSync(DEV_VARS, `OPERATOR_KEY=${key}\n`, { mode: 0o600 });
  return key;
}

/** The documentation page's script, served by the API itself. */
export function copyAssets(): void {
  if (!existsSync(SCALAR_TARGET)) copyFileSync(SCALAR_SOURCE, SCALAR_TARGET);
}

export async function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });
}

export async function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? done(address.port) : fail(new Error("no port"))));
    });
  });
}

/** One folder after the other: Node's recursive `mkdir` never returns below a folder that takes none (/proc). */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

function checkState(state: string): void {
  try {
    makeFolder(state);
    const probe = join(state, ".writable");
    writeFileSync(probe, "x".repeat(64 * 1024));
    rmSync(probe);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOSPC") throw new PlaneError("the disk is full. Free some space and start again.");
    throw new PlaneError(`the state folder ${state} can't be written to (${code}). Name another with --state DIR.`);
  }
}

function explain(output: string, state: string): string {
  if (/ENOSPC|database or disk is full/i.test(output)) return "the disk is full. Free some space and start again.";
  if (/malformed|not a database|SQLITE_CORRUPT|SQLITE_NOTADB/i.test(output)) {
    return `the state folder ${state} is broken. Move it away, or name another with --state DIR, and start again.`;
  }
  if (/EADDRINUSE|Address already in use/i.test(output)) return "the port was taken meanwhile. Choose another with --port N.";
  return "the plane did not start. Its last words follow.";
}

const lastLines = (text: string, count = 25): string => text.trim().split("\n").slice(-count).join("\n");

export function applyMigrations(state: string): void {
  const args = ["d1", "migrations", "apply", "sessionplane-catalog", "--local", "-c", configOf("api"), "--persist-to", state];
  const result = spawnSync(process.execPath, [wrangler, ...args], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, CI: "true" },
  });
  if (result.status !== 0) {
    const output = `${result.stdout}${result.stderr}`;
    throw new PlaneError(`${explain(output, state)}\n\n${lastLines(output)}`);
  }
}

function launch({ port, state, log }: PlaneOptions): ChildProcess {
  const configs = WORKERS.flatMap((worker) => ["-c", configOf(worker)]);
  const out = openSync(log, "w");
  const args = [wrangler, "dev", ...configs, "--local", "--persist-to", state, "--port", String(port), "--ip", "127.0.0.1"];
  // A process group of its own, so that stopping reaches workerd too.
  const child = spawn(process.execPath, [...args, "--inspector-port", "0", "--show-interactive-dev-session=false"], {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", out, out],
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" },
  });
  // However this process ends, the plane ends with it.
  process.once("exit", () => signalGroup(child, "SIGKILL"));
  return child;
}

const isAlive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // The group is gone.
  }
}

async function stopGroup(child: ChildProcess): Promise<void> {
  signalGroup(child, "SIGTERM");
  for (const deadline = Date.now() + STOP_TIMEOUT_MS; isAlive(child) && Date.now() < deadline;) await wait(POLL_MS);
  signalGroup(child, "SIGKILL");
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/v1/ready`, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
}

async function waitUntilReady(child: ChildProcess, url: string, options: PlaneOptions): Promise<void> {
  for (const deadline = Date.now() + READY_TIMEOUT_MS; Date.now() < deadline; await wait(POLL_MS)) {
    if (await isReady(url)) return;
    if (!isAlive(child)) break;
  }
  const output = readFileSync(options.log, "utf8");
  throw new PlaneError(`${explain(output, options.state)}\n\n${lastLines(output)}`);
}

/** Starts a plane and waits until it is ready. The state folder is made, and brought to the present version. */
export async function startPlane(options: PlaneOptions): Promise<Plane> {
  const step = options.onStep ?? (() => undefined);
  if (!(await isFree(options.port))) {
    throw new PlaneError(`port ${options.port} is in use. Stop what uses it, or choose another with --port N.`);
  }
  checkState(options.state);
  const key = operatorKey();
  copyAssets();
  step("applying migrations");
  applyMigrations(options.state);
  step("starting the workers");
  const child = launch(options);
  const url = `http://127.0.0.1:${options.port}`;
  try {
    await waitUntilReady(child, url, options);
  } catch (error) {
    await stopGroup(child);
    throw error;
  }
  return { url, operatorKey: key, process: child, stop: () => stopGroup(child) };
}
