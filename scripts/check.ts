/** `npm run check`: what clean means. Every check runs; the last line counts them. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brokenRules } from "./house-rules.ts";
import { checkMigration } from "./migration-rules.ts";
import { readOptions } from "./options.ts";
import { ROOT, WORKERS, applyMigrations, copyAssets } from "./plane.ts";
import { type Step, command, runSteps } from "./steps.ts";

const HELP = `
Format, lint, types, import rules, dead code, generated files, migrations, deployability.

  npm run check
`;

readOptions(HELP, {});
copyAssets();

const bin = (name: string): string => join(ROOT, "node_modules/.bin", name);
/** Every tsconfig of the tree, so that a new package can't be forgotten. */
const PROJECTS = [
  "tsconfig.json",
  ...globSync(["bench/tsconfig*.json", "{packages,workers,examples}/*/tsconfig*.json"], { cwd: ROOT }).toSorted(),
];

const houseRules: Step = {
  name: "house rules",
  run: async () => {
    const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" });
    if (listed.status !== 0) return listed.stderr;
    const problems = listed.stdout
      .split("\n")
      .filter((path) => path !== "" && existsSync(join(ROOT, path)))
      .flatMap((path) => brokenRules({ path, text: readFileSync(join(ROOT, path), "utf8") }).map((why) => `${path} ${why}`));
    return problems.length === 0 ? null : problems.join("\n");
  },
};

const migrations: Step = {
  name: "migrations only add, and tables are strict",
  run: async () => {
    const folder = join(ROOT, "migrations");
    const problems = readdirSync(folder)
      .filter((file) => file.endsWith(".sql"))
      .flatMap((file) => checkMigration(readFileSync(join(folder, file), "utf8")).map((why) => `${file} ${why}`));
    return problems.length === 0 ? null : problems.join("\n");
  },
};

/** drizzle-kit would write a migration if the schema had something that the migrations have not. */
const schemaIsMigrated: Step = {
  name: "the schema has its migrations",
  run: async () => {
    const copy = mkdtempSync(join(tmpdir(), "migrations-"));
    try {
      cpSync(join(ROOT, "migrations"), copy, { recursive: true });
      const before = readdirSync(copy).length;
      const schema = join(ROOT, "workers/api/src/catalog/*schema.ts");
      const args = [
        join(ROOT, "node_modules/drizzle-kit/bin.cjs"),
        "generate",
        "--dialect",
        "sqlite",
        "--schema",
        schema,
        "--out",
        copy,
      ];
      const result = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
      if (result.status !== 0) return `${result.stdout}${result.stderr}`;
      return readdirSync(copy).length === before ? null : "the schema has changed: npm run migration -- NAME";
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  },
};

const migrationsApply: Step = {
  name: "migrations apply to an empty catalog",
  run: async () => {
    const state = mkdtempSync(join(tmpdir(), "state-"));
    try {
      applyMigrations(state);
      return null;
    } catch (error) {
      return String(error);
    } finally {
      rmSync(state, { recursive: true, force: true });
    }
  },
};

/** Two wranglers are two workerds: the tests would run on another runtime than the plane. */
const oneRuntime: Step = {
  name: "one wrangler and one workerd",
  run: async () => {
    const installed = readdirSync(join(ROOT, "node_modules/.pnpm")).filter((name) => /^(wrangler|workerd)@/.test(name));
    const versions = new Set(installed.map((name) => /^(?:wrangler|workerd)@[\d.]+/.exec(name)?.[0] ?? name));
    return versions.size === 2 ? null : [...versions].join("\n");
  },
};

const deployable = WORKERS.flatMap((worker) =>
  [[], ["--env", "production"]].map((flags) =>
    command(
      `wrangler deploy --dry-run of ${worker}${flags.length === 0 ? "" : " for production"}`,
      bin("wrangler"),
      ["deploy", "--dry-run", "--outdir", join(tmpdir(), `sessionplane-dry-run-${worker}`), ...flags],
      join(ROOT, "workers", worker),
    ),
  ),
);

const { passed, failed } = await runSteps([
  command("format", bin("oxfmt"), ["-c", ".oxfmtrc.json", "--check", "."]),
  command("lint", bin("oxlint"), ["--type-aware"]),
  ...PROJECTS.map((project) =>
    command(`types of ${project === "tsconfig.json" ? "scripts and tests" : project}`, bin("tsc"), ["-p", project]),
  ),
  command("import rules", bin("depcruise"), [
    "packages",
    "workers",
    "scripts",
    "tests",
    "bench",
    "examples",
    "--config",
    ".dependency-cruiser.cjs",
  ]),
  houseRules,
  command("dead code", bin("knip"), []),
  command("binding types are up to date", process.execPath, [join(ROOT, "scripts/worker-types.ts"), "--check"]),
  migrations,
  schemaIsMigrated,
  migrationsApply,
  oneRuntime,
  ...deployable,
]);

process.stdout.write(`\nchecks: ${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
