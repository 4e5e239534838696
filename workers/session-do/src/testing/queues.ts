/** What the objects of a test send to their queues, which have no consumer here. */
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { type FactBatch, factBatchSchema } from "@sessionplane/shared/queue/fact";
import { type WakeUp, wakeUpSchema } from "@sessionplane/shared/queue/wake-up";

export type Sent = {
  facts: FactBatch[];
  wakeUps: WakeUp[];
  /** While it says so, sending fails. */
  down: "facts" | "wakeUps" | null;
};

/** Tests and objects share an isolate: one replaced method sees what every object sends. */
export function watchQueues(): Sent {
  const sent: Sent = { facts: [], wakeUps: [], down: null };
  const prototype = Object.getPrototypeOf(env.CATALOG_EVENTS) as Queue;
  vi.spyOn(prototype, "send").mockImplementation(async (body: unknown) => {
    const facts = factBatchSchema.safeParse(body);
    if (sent.down === (facts.success ? "facts" : "wakeUps")) throw new Error("the queue is down");
    if (facts.success) sent.facts.push(facts.data);
    else sent.wakeUps.push(wakeUpSchema.parse(body));
    return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
  });
  return sent;
}
