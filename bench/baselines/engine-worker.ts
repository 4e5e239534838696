/** The way in to three engines in one isolate: a call names objects of a side and what each of them shall do. */
import type { SessionEnv } from "../../workers/session-do/src/env.ts";
import { type BareMessages, forgetRows, rowsOf } from "./engine/bare.ts";
import { forgetMessages } from "./engine/messages.ts";
import type { BenchSession } from "./engine/ours.ts";
import type { PublishedSession } from "./engine/published.ts";
import type { Done, Order, Side, Work } from "./engine/work.ts";

export { BareMessages } from "./engine/bare.ts";
export { BenchSession } from "./engine/ours.ts";
export { PublishedSession } from "./engine/published.ts";

type EngineEnv = SessionEnv & {
  OURS: DurableObjectNamespace<BenchSession>;
  PUBLISHED: DurableObjectNamespace<PublishedSession>;
  BARE: DurableObjectNamespace<BareMessages>;
};

async function askOne(env: EngineEnv, side: Side, name: string, work: Work): Promise<Done> {
  if (side === "ours") return env.OURS.getByName(name).run(work);
  if (side === "published") return env.PUBLISHED.getByName(name).run(work);
  return env.BARE.getByName(name).run(work);
}

export default {
  async fetch(request, env) {
    const order = await request.json<Order>();
    // The objects share the isolate, and so what is made here.
    if ("prepare" in order) return Response.json([{ messages: rowsOf(order.prepare, order.count).length, bytes: 0 }]);
    if ("forget" in order) {
      forgetMessages();
      forgetRows();
      return Response.json([]);
    }
    const done: Done[] = [];
    for (const name of order.names) done.push(await askOne(env, order.side, name, order.work));
    return Response.json(done);
  },
} satisfies ExportedHandler<EngineEnv>;
