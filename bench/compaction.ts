/** Compaction: what a plan costs, what a running job costs the session, and how many jobs get through. */
import { stopWith } from "../scripts/options.ts";
import { appendDuring } from "./compaction/append-during.ts";
import { jobs } from "./compaction/jobs.ts";
import { plan } from "./compaction/plan.ts";
import { type Plane, startPlane } from "./compaction/plane.ts";
import type { Comparison } from "./measure.ts";

async function onPlane(part: (plane: Plane) => Promise<Comparison[]>): Promise<Comparison[]> {
  const plane = await startPlane();
  try {
    return await part(plane);
  } finally {
    await plane.close();
  }
}

const PARTS: Readonly<Record<string, () => Promise<Comparison[]>>> = {
  plan,
  append: () => onPlane(async (plane) => [await appendDuring(plane)]),
  jobs: () => onPlane(jobs),
};
export const COMPACTION_PARTS: readonly string[] = Object.keys(PARTS);

/** `only`: names of parts; none is all of them. Ends the process on a name that is none. */
export async function compaction(only: readonly string[]): Promise<Comparison[]> {
  const parts = (only.length === 0 ? COMPACTION_PARTS : only).map((name) => {
    const part = PARTS[name];
    return part ?? stopWith(`the benchmark of compaction has no part ${name}; it has ${COMPACTION_PARTS.join(", ")}.`);
  });
  const results: Comparison[] = [];
  for (const part of parts) results.push(...(await part()));
  return results;
}
