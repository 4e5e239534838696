/** `npm run fix`: formats everything and applies the linter's own fixes. */
import { join } from "node:path";
import { ROOT } from "./plane.ts";
import { command, runSteps } from "./steps.ts";

const bin = (name: string): string => join(ROOT, "node_modules/.bin", name);
const { failed } = await runSteps([
  command("lint fixes", bin("oxlint"), ["--type-aware", "--fix"]),
  command("format", bin("oxfmt"), ["-c", ".oxfmtrc.json", "."]),
]);
process.exit(failed === 0 ? 0 : 1);
