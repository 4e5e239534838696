/**
 * Makes the project runnable on a machine that has only Node 20, npm and git, then runs a script.
 *
 *   node scripts/toolchain.mjs scripts/start.ts [arguments…]
 *
 * 1. A Node that can run wrangler and TypeScript files as they are: the present one when it is new
 *    enough, otherwise one from npm in `.toolchain/`.
 * 2. pnpm, in `.toolchain/`.
 * 3. The packages of the lock file.
 *
 * Plain JavaScript, standard library alone: it runs before anything is installed, under the old Node.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NODE_VERSION = "24.21.0";
const PNPM_VERSION = "12.21.0";
/** The first Node of each line that wrangler accepts and that strips types without a flag. */
const OLDEST_USABLE = { 22: 18, 23: 6 };

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const toolchain = join(root, ".toolchain");

function fail(sentence, detail = "") {
  process.stderr.write(`\nsessionplane: ${sentence}\n${detail ? `\n${detail.trim()}\n` : ""}`);
  process.exit(1);
}

function presentNodeIsUsable() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major >= 24 || minor >= (OLDEST_USABLE[major] ?? Infinity);
}

/** npm's and pnpm's own variables would leak the outer tool's settings into the inner one. */
function cleanEnvironment() {
  const env = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (/^(npm_(?!config_(registry|cafile|proxy|https_proxy|noproxy|strict_ssl))|pnpm_|PNPM_)/i.test(name)) continue;
    if (name === "INIT_CWD") continue;
    env[name] = value;
  }
  return env;
}

function explain(output) {
  if (/ENOSPC/.test(output)) return "the disk is full. Free some space and run the command again.";
  if (/EACCES|EPERM|EROFS/.test(output)) return "a folder of the project can't be written to. Check its owner and permissions.";
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|ERR_SOCKET|network|fetch failed/i.test(output))
    return "the npm registry could not be reached. Check the network (or `npm config get registry`) and run the command again.";
  if (/ERR_PNPM_OUTDATED_LOCKFILE|frozen-lockfile/.test(output))
    return "pnpm-lock.yaml does not match the package.json files. Run `pnpm install` and commit the lock file.";
  return "installing failed; the tool's own words follow.";
}

function run(command, args, env) {
  const result = spawnSync(command, args, { cwd: root, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const output = `${result.stdout ?? ""}${result.stderr ?? ""}${result.error ?? ""}`;
  if (result.status !== 0) fail(explain(output), output.split("\n").slice(-25).join("\n"));
  return output;
}

/** Installs npm packages into a folder that appears whole or not at all, so that two at once are safe. */
function installTool(name, packages) {
  const target = join(toolchain, name);
  if (existsSync(target)) return target;
  mkdirSync(toolchain, { recursive: true });
  const temporary = mkdtempSync(join(toolchain, "tmp-"));
  try {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
    run(npm, ["install", "--prefix", temporary, ...flags, ...packages], cleanEnvironment());
    try {
      renameSync(temporary, target);
    } catch (error) {
      if (!existsSync(target)) throw error;
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return target;
}

function findNode() {
  if (presentNodeIsUsable()) return process.execPath;
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const target = join(toolchain, `node-${NODE_VERSION}`);
  if (!existsSync(target)) step(`Node ${process.versions.node} is too old for wrangler; fetching Node ${NODE_VERSION}`);
  installTool(`node-${NODE_VERSION}`, [`${name}@${NODE_VERSION}`]);
  const file = process.platform === "win32" ? "node.exe" : "node";
  return join(target, "node_modules", name, "bin", file);
}

function findPnpm() {
  const target = join(toolchain, `pnpm-${PNPM_VERSION}`);
  if (!existsSync(target)) step(`fetching pnpm ${PNPM_VERSION}`);
  installTool(`pnpm-${PNPM_VERSION}`, [`pnpm@${PNPM_VERSION}`]);
  return join(target, "node_modules/pnpm/bin/pnpm.mjs");
}

function step(text) {
  process.stderr.write(`· ${text}\n`);
}

function installPackages(node, pnpm, env) {
  const stamp = join(root, "node_modules", ".installed");
  const digest = createHash("sha256")
    .update(readFileSync(join(root, "pnpm-lock.yaml")))
    .update(readFileSync(join(root, "pnpm-workspace.yaml")))
    .update(process.arch)
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  step("installing the packages");
  run(node, [pnpm, "install", "--frozen-lockfile"], { ...env, CI: "true" });
  writeFileSync(stamp, digest);
}

const [script, ...args] = process.argv.slice(2);
if (!script) fail("name a script to run: node scripts/toolchain.mjs scripts/start.ts");

const node = findNode();
const pnpm = findPnpm();
const env = cleanEnvironment();
env.PATH = [dirname(node), join(root, "node_modules/.bin"), env.PATH].join(delimiter);
env.SESSIONPLANE_PNPM = pnpm;
env.WRANGLER_SEND_METRICS = "false";
env.DO_NOT_TRACK = "1";
if (script !== "pnpm") installPackages(node, pnpm, env);

const entry = script === "pnpm" ? [pnpm] : [join(root, script)];
const child = spawn(node, ["--disable-warning=ExperimentalWarning", ...entry, ...args], { cwd: root, env, stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// npm dies of a signal without handing it on, or is killed: whoever started us is then another process.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) child.kill("SIGTERM");
}, 500).unref();
child.on("exit", (code, signal) => process.exit(signal ? 128 + (signal === "SIGINT" ? 2 : 15) : (code ?? 1)));
