/** Starts one workerd with the three engines, and asks their objects from outside. */
import { join } from "node:path";
import { createTestHarness, unstable_readConfig as readConfig } from "wrangler";
import { ROOT } from "../../scripts/plane.ts";
import type { Done, Kind, Order, Side, Work } from "../baselines/engine/work.ts";
import type { Timed } from "../measure.ts";

const BINDINGS: Readonly<Record<Side, "OURS" | "PUBLISHED" | "BARE">> = { ours: "OURS", published: "PUBLISHED", bare: "BARE" };
type Bindings = Record<"OURS" | "PUBLISHED" | "BARE", DurableObjectNamespace>;

export type Engines = Awaited<ReturnType<typeof startEngines>>;

export async function startEngines() {
  // Our object's own variables: one that is missing would change what it does.
  const { vars } = readConfig({ config: join(ROOT, "workers/session-do/wrangler.jsonc") });
  const configPath = join(ROOT, "bench/baselines/engine/wrangler.jsonc");
  const server = createTestHarness({ workers: [{ configPath, vars: vars as Record<string, string> }] });
  await server.listen();
  const worker = server.getWorker<Bindings>("sessionplane-bench-engine");

  const send = async (order: Order): Promise<Done[]> => {
    const response = await worker.fetch("http://bench/", { method: "POST", body: JSON.stringify(order) });
    if (!response.ok) throw new Error(`${JSON.stringify(order)}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Done[];
  };

  /** The same of several objects, one after the other, in one call from outside. */
  const askEach = (side: Side, names: readonly string[], work: Work) => send({ side, names, work });

  const ask = async (side: Side, name: string, work: Work): Promise<Done> => {
    const [done] = await askEach(side, [name], work);
    if (done === undefined) throw new Error(`${side} did not answer`);
    return done;
  };

  return {
    ask,
    askEach,
    prepare: (kind: Kind, count: number) => send({ prepare: kind, count }),
    forget: () => send({ forget: true }),

    async evict(side: Side, names: readonly string[]): Promise<void> {
      for (const name of names) await worker.evictDurableObject(BINDINGS[side], { name });
    },

    /** Sessions with the first `count` messages of a kind and nothing left to tell. */
    async populate(sides: readonly Side[], names: readonly string[], kind: Kind, count: number): Promise<void> {
      await send({ prepare: kind, count });
      for (const side of sides)
        for (const work of [{ op: "open" }, { op: "append", kind, count }, { op: "settle" }] as const)
          await askEach(side, names, work);
      await send({ forget: true });
    },

    async drop(sides: readonly Side[], names: readonly string[]): Promise<void> {
      for (const side of sides) await askEach(side, names, { op: "drop" });
    },

    /** Appends to a session of the round's own; the last round's is dropped before. */
    appends(side: Side, kind: Kind, count: number): Timed {
      const nameOf = (round: number) => `append-${kind}-${count}-${round}`;
      return {
        async before(round) {
          if (round > 0) await ask(side, nameOf(round - 1), { op: "drop" });
          await ask(side, nameOf(round), { op: "open" });
        },
        async work(round) {
          await ask(side, nameOf(round), { op: "append", kind, count });
        },
      };
    },

    close: () => server.close(),
  };
}
