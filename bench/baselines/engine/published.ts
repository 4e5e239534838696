/** The published engine, as its documentation installs it on a plain object, with the same loops inside. */
import { DurableObject } from "cloudflare:workers";
import { Lifecycle } from "agents/lifecycle";
import { type SessionMessage, Sessions } from "agents/sessions";
import { messagesOf, oneMore } from "./messages.ts";
import { type Done, type Kind, NOTHING, SEARCHED, type Work } from "./work.ts";

const encoder = new TextEncoder();
/** As a line of NDJSON. */
const bytesOf = (message: SessionMessage): number => encoder.encode(JSON.stringify(message)).byteLength + 1;
const sizeOf = (messages: readonly SessionMessage[]): Done => ({
  messages: messages.length,
  bytes: messages.reduce((sum, message) => sum + bytesOf(message), 0),
});

export class PublishedSession extends DurableObject {
  readonly sessions = new Sessions();
  readonly lifecycle = Lifecycle.install(this).use(this.sessions);
  readonly session = this.sessions.session();

  async run(work: Work): Promise<Done> {
    await this.lifecycle.start();
    switch (work.op) {
      case "open":
      case "settle":
        break;
      case "append":
        return this.#appendMany(work.kind, work.count);
      case "append_one":
        await this.session.appendMessage(oneMore());
        break;
      case "history":
        return this.#history(work.times, work.count);
      case "recent":
        return this.#recent(work.max_bytes, work.times);
      case "leaf":
        if ((await this.session.getLatestLeaf()) === null) throw new Error("the session has no leaf");
        return { messages: 1, bytes: 0 };
      case "search":
        return this.#search(work.times);
      case "edit":
      case "replace_one":
      case "plan":
        throw new Error(`the published engine is not asked for ${work.op}`);
      case "drop":
        await this.ctx.storage.deleteAll();
    }
    return NOTHING;
  }

  async #appendMany(kind: Kind, count: number): Promise<Done> {
    for (const message of messagesOf(kind, count)) {
      const { inserted } = await this.session.appendMessage(message);
      if (!inserted) throw new Error(`${message.id} was there already`);
    }
    return { messages: count, bytes: 0 };
  }

  /** Messages as it gives them, parsed. Their bytes are counted when that is asked for, which is not timed. */
  async #history(times: number, count: boolean): Promise<Done> {
    let messages = 0;
    let bytes = 0;
    for (let pass = 0; pass < times; pass++) {
      messages = 0;
      for await (const message of this.session.history()) {
        messages += 1;
        if (count) bytes += bytesOf(message);
      }
    }
    return { messages, bytes };
  }

  async #search(times: number): Promise<Done> {
    let messages = 0;
    for (let pass = 0; pass < times; pass++)
      messages += (await this.session.search(SEARCHED[pass % SEARCHED.length] ?? "", { limit: 20 })).length;
    return { messages, bytes: 0 };
  }

  async #recent(maxBytes: number, times: number): Promise<Done> {
    let messages: readonly SessionMessage[] = [];
    for (let pass = 0; pass < times; pass++) ({ messages } = await this.session.getRecentHistory(maxBytes));
    return sizeOf(messages);
  }
}
