/** The worker's entries: HTTP, the projection's queue, the sweep, and what the compactor calls. */
import { createApp } from "./app.ts";
import type { ApiEnv } from "./env.ts";
import { logError } from "./log.ts";
import { consumeFacts } from "./projection/consume-facts.ts";
import { sweep } from "./projection/sweep.ts";

export { CatalogEntrypoint } from "./catalog-entrypoint.ts";

const DEAD_QUEUE = "catalog-events-dead";

const app = createApp();

export default {
  fetch: app.fetch,
  async queue(batch, env) {
    if (batch.queue !== DEAD_QUEUE) return consumeFacts(env, batch.messages);
    // The objects still hold these facts, and send them until the catalog has them.
    logError("facts_dead_lettered", new Error("the queue gave up on facts"), { messages: batch.messages.length });
    batch.ackAll();
  },
  async scheduled(_event, env) {
    await sweep(env);
  },
} satisfies ExportedHandler<ApiEnv>;
