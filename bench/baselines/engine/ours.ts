/**
 * Our session's object with loops inside. Its alarm does nothing: what is told to the catalog would
 * otherwise be sent in the middle of somebody's measurement. `npm run bench -- api` measures with it.
 */
import { newId } from "@sessionplane/shared/ids";
import type { Result } from "@sessionplane/shared/result";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { NO_SETTINGS } from "@sessionplane/shared/session";
import { SessionDO } from "../../../workers/session-do/src/session-do.ts";
import { drain } from "./drain.ts";
import { messagesOf, oneMore } from "./messages.ts";
import { type Done, type Kind, NOTHING, SEARCHED, type Work } from "./work.ts";

const RULES: TenantRules = { client_roles: ["user"], reserved_metadata_keys: [], compaction: { automatic: false } };
const SETTINGS = { ...NO_SETTINGS, name: "a session" };
/** More messages than a recent window of the benchmark has. */
const WINDOW_MESSAGES = 1_000;

function valueOf<T, E>(result: Result<T, E>): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
}

export class BenchSession extends SessionDO {
  override async alarm(): Promise<void> {}

  async run(work: Work): Promise<Done> {
    switch (work.op) {
      case "open":
        return this.#opened();
      case "append":
        return this.#appendMany(work.kind, work.count);
      case "append_one":
        valueOf(await this.append({ messages: [oneMore()], source: "server", rules: RULES }));
        break;
      case "history":
        return this.#history(work.times, work.count);
      case "recent":
        return this.#recent(work.max_bytes, work.times);
      case "leaf":
        return this.#leaf();
      case "plan":
        return this.#plan(work.times);
      case "search":
        return this.#search(work.times);
      case "edit":
        return this.#edit(work.times);
      case "replace_one":
        return this.#replaceOne(work.times);
      case "settle":
        return this.#settle();
      case "drop":
        await this.ctx.storage.deleteAll();
    }
    return NOTHING;
  }

  async #opened(): Promise<Done> {
    const ids = { tenant_id: newId("tenant"), session_id: newId("session") };
    valueOf(await this.open({ ...ids, settings: SETTINGS, created_at: Date.now(), rules: RULES }));
    return NOTHING;
  }

  async #appendMany(kind: Kind, count: number): Promise<Done> {
    for (const message of messagesOf(kind, count)) {
      const { value } = valueOf(await this.append({ messages: [message], source: "server", rules: RULES }));
      if (value.results.some((one) => !one.inserted)) throw new Error(`${message.id} was there already`);
    }
    return { messages: count, bytes: 0 };
  }

  async #history(times: number, count: boolean): Promise<Done> {
    let done = NOTHING;
    for (let pass = 0; pass < times; pass++)
      done = await drain(valueOf(await this.streamHistory({ view: "raw", order: "asc" })), count);
    return done;
  }

  async #recent(maxBytes: number, times: number): Promise<Done> {
    let done = NOTHING;
    for (let pass = 0; pass < times; pass++) {
      const query = { view: "history", order: "asc", limit: WINDOW_MESSAGES, max_bytes: maxBytes } as const;
      const { items } = valueOf(await this.readHistory(query));
      done = { messages: items.length, bytes: items.reduce((sum, item) => sum + item.meta.bytes, 0) };
    }
    return done;
  }

  /** A request makes a plan and writes it down as a job; only a job that is over makes room for the next. */
  async #plan(times: number): Promise<Done> {
    let messages = 0;
    for (let pass = 0; pass < times; pass++) {
      const { value: job } = valueOf(await this.requestCompaction({ rules: RULES }));
      valueOf(await this.cancelJob({ job_id: job.id }));
      messages = job.messages;
    }
    return { messages, bytes: 0 };
  }

  async #search(times: number): Promise<Done> {
    let messages = 0;
    for (let pass = 0; pass < times; pass++) {
      const q = SEARCHED[pass % SEARCHED.length] ?? "";
      const { hits } = valueOf(await this.search({ q, limit: 20, created: { from: 0, before: Number.MAX_SAFE_INTEGER } }));
      messages += hits.length;
    }
    if (messages !== times * 20) throw new Error(`${messages} hits of ${times} searches`);
    return { messages, bytes: 0 };
  }

  /** Messages that are spread over the session, each with a text that it has not had. */
  async #edit(times: number): Promise<Done> {
    const { items } = valueOf(await this.readStats({ limit: 1_000 }));
    for (let pass = 0; pass < times; pass++) {
      const item = items[(pass * 7) % items.length];
      if (item === undefined) throw new Error("the session is empty");
      const message = {
        id: item.id,
        role: "user" as const,
        parts: [{ type: "text", text: `another text ${crypto.randomUUID()}` }],
      };
      valueOf(await this.putMessage({ message, source: "server", rules: RULES }));
    }
    return { messages: times, bytes: 0 };
  }

  async #replaceOne(times: number): Promise<Done> {
    for (let pass = 0; pass < times; pass++) {
      const message = oneMore();
      valueOf(await this.append({ messages: [message], source: "server", rules: RULES }));
      const idempotency = { key: message.id, fingerprint: "" };
      valueOf(await this.deleteMessages({ ids: [message.id], source: "server", rules: RULES, idempotency }));
    }
    return { messages: times, bytes: 0 };
  }

  async #leaf(): Promise<Done> {
    const { items } = valueOf(await this.readHistory({ view: "history", order: "desc", limit: 1 }));
    if (items.length !== 1) throw new Error("the session has no leaf");
    return { messages: 1, bytes: items[0]?.json.length ?? 0 };
  }

  async #settle(): Promise<Done> {
    await this.projected(0, valueOf(await this.repair()));
    await this.ctx.storage.deleteAlarm();
    return NOTHING;
  }
}
