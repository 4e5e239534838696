/** `npm run types`: the workers' binding types, from their configurations. `--check` only compares. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { readOptions, stopWith } from "./options.ts";
import { ROOT, WORKERS } from "./plane.ts";

const HELP = `
Writes workers/*/worker-configuration.d.ts from the wrangler.jsonc beside it.

  npm run types -- [--check]
`;

const { values } = readOptions(HELP, { check: { type: "boolean", default: false } });

for (const worker of WORKERS) {
  const cwd = join(ROOT, "workers", worker);
  // The environment file is an empty one: a secret of this machine is no part of the configuration.
  const flags = [
    "--include-runtime=false",
    "--strict-vars=false",
    "--env-file=../../scripts/no-secrets.env",
    ...(values.check ? ["--check"] : []),
  ];
  const result = spawnSync(process.execPath, [join(ROOT, "node_modules/wrangler/bin/wrangler.js"), "types", ...flags], {
    cwd,
    encoding: "utf8",
  });
  if (result.status !== 0)
    stopWith(
      `the types of ${worker} ${values.check ? "are not up to date: npm run types" : "could not be written"}\n${result.stdout}${result.stderr}`,
    );
}
