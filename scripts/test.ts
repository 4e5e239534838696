/** `npm test`: every suite. Arguments go to vitest: `npm test -- --project node plan`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, copyAssets } from "./plane.ts";

type Summary = {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numFailedTestSuites: number;
};

copyAssets();
const folder = mkdtempSync(join(tmpdir(), "vitest-"));
const report = join(folder, "report.json");
const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
const args = [vitest, "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...process.argv.slice(2)];
const { status } = spawnSync(process.execPath, args, {
  cwd: ROOT,
  stdio: "inherit",
  env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
});

let summary: Summary | undefined;
try {
  summary = JSON.parse(readFileSync(report, "utf8"));
} catch {
  process.stdout.write("\nthe suites did not run to their end\n");
}
rmSync(folder, { recursive: true, force: true });
const passed = summary?.numPassedTests ?? 0;
// A suite that fails before its tests are known has none to count.
const failed = summary?.numFailedTests ?? 1;
const extra = status !== 0 && failed === 0 ? 1 : 0;
process.stdout.write(`\ntests: ${passed} passed, ${failed + extra} failed, ${summary?.numPendingTests ?? 0} skipped\n`);
process.exit(status ?? 1);
