/**
 * Our engine, the published one and a bare object in one workerd, on the same messages. A clock inside
 * workerd stands still while it computes: each time is that of one call from outside that does many
 * operations inside the object, with the call's own cost in it.
 */
import { stopWith } from "../scripts/options.ts";
import { append } from "./engine/append.ts";
import { cold } from "./engine/cold.ts";
import { history } from "./engine/history.ts";
import { search } from "./engine/search.ts";
import { recent } from "./engine/recent.ts";
import { type Engines, startEngines } from "./engine/three-engines.ts";
import type { Comparison } from "./measure.ts";

const PARTS: Readonly<Record<string, (engines: Engines) => Promise<Comparison[]>>> = { append, history, recent, cold, search };
/** `search` is a benchmark of its own. */
export const ENGINE_PARTS: readonly string[] = Object.keys(PARTS).filter((part) => part !== "search");

/** `only`: names of parts; none is all of them. Ends the process on a name that is none. */
export async function engine(only: readonly string[]): Promise<Comparison[]> {
  const parts = (only.length === 0 ? ENGINE_PARTS : only).map((name) => {
    const part = PARTS[name];
    if (part === undefined) return stopWith(`the engine's benchmark has no part ${name}; it has ${ENGINE_PARTS.join(", ")}.`);
    return part;
  });
  const engines = await startEngines();
  try {
    const results: Comparison[] = [];
    for (const part of parts) results.push(...(await part(engines)));
    return results;
  } finally {
    await engines.close();
  }
}
