/** Named steps of a command: each runs, says ok or failed and how long it took; only failures say more. */
import { spawn } from "node:child_process";
import { ROOT } from "./plane.ts";

export type Step = { readonly name: string; readonly run: () => Promise<string | null> };

const TAIL_LINES = 60;

/** A command as a step: null when it succeeds, its output when it fails. */
export function command(name: string, file: string, args: readonly string[], cwd = ROOT): Step {
  return {
    name,
    run: () =>
      new Promise((done) => {
        const chunks: string[] = [];
        const child = spawn(file, args, { cwd, env: { ...process.env, CI: "true", WRANGLER_SEND_METRICS: "false" } });
        child.stdout.on("data", (data: Buffer) => chunks.push(data.toString()));
        child.stderr.on("data", (data: Buffer) => chunks.push(data.toString()));
        child.on("error", (error) => done(String(error)));
        child.on("exit", (code) => done(code === 0 ? null : chunks.join("").split("\n").slice(-TAIL_LINES).join("\n")));
      }),
  };
}

/** Runs the steps in turn and returns how many failed. */
export async function runSteps(steps: readonly Step[]): Promise<{ passed: number; failed: number }> {
  let failed = 0;
  for (const step of steps) {
    const started = Date.now();
    const output = await step.run();
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    process.stdout.write(`${output === null ? "ok    " : "FAILED"} ${step.name} (${seconds} s)\n`);
    if (output === null) continue;
    failed += 1;
    process.stdout.write(`${output.trim()}\n\n`);
  }
  return { passed: steps.length - failed, failed };
}
