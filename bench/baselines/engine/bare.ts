/**
 * The least that an object can do: our columns and our unique index, values that were made before the
 * clock ran, and a scan through one cursor. No tree, no tokens, no checks.
 */
import { DurableObject } from "cloudflare:workers";
import { drain } from "./drain.ts";
import { messagesOf, oneMore } from "./messages.ts";
import { type Done, type Kind, NOTHING, type Work } from "./work.ts";

const CREATE = `
  CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, role TEXT NOT NULL, created_at INTEGER NOT NULL,
    tokens INTEGER NOT NULL, path_tokens INTEGER NOT NULL, bytes INTEGER NOT NULL, path_bytes INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, call_ids TEXT, continuations INTEGER NOT NULL, json TEXT NOT NULL) STRICT`;
const INSERT = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
/** What a plan can't do without. */
const WALK = "SELECT seq, id, tokens, call_ids FROM messages ORDER BY seq";
const ROWS_PER_CHUNK = 200;

type Values = readonly (string | number | null)[];
const prepared = new Map<Kind, Values[]>();

/** The first `count` rows of a kind. */
export function rowsOf(kind: Kind, count: number): readonly Values[] {
  const rows = prepared.get(kind) ?? [];
  prepared.set(kind, rows);
  for (const message of messagesOf(kind, count).slice(rows.length)) {
    const json = JSON.stringify(message);
    const seq = rows.length + 1;
    const { length: bytes } = json;
    rows.push([
      seq,
      message.id,
      message.role,
      Date.now(),
      Math.ceil(bytes / 4),
      seq * 100,
      bytes,
      seq * bytes,
      seq,
      null,
      0,
      json,
    ]);
  }
  return rows.length === count ? rows : rows.slice(0, count);
}

export const forgetRows = (): void => prepared.clear();

export class BareMessages extends DurableObject {
  async run(work: Work): Promise<Done> {
    const { sql } = this.ctx.storage;
    switch (work.op) {
      case "open":
        sql.exec(CREATE);
        break;
      case "append":
        for (const values of rowsOf(work.kind, work.count)) sql.exec(INSERT, ...values);
        return { messages: work.count, bytes: 0 };
      case "append_one": {
        const message = oneMore();
        sql.exec(INSERT, null, message.id, message.role, 0, 0, 0, 0, 0, 0, null, 0, JSON.stringify(message));
        break;
      }
      case "history":
        return this.#history(work.times, work.count);
      case "plan":
        return this.#walk(work.times);
      case "recent":
      case "search":
      case "edit":
      case "replace_one":
        throw new Error(`the bare object has no ${work.op}`);
      case "leaf":
        sql.exec("SELECT json FROM messages ORDER BY seq DESC LIMIT 1").one();
        return { messages: 1, bytes: 0 };
      case "settle":
        break;
      case "drop":
        await this.ctx.storage.deleteAll();
    }
    return NOTHING;
  }

  async #history(times: number, count: boolean): Promise<Done> {
    let done = NOTHING;
    for (let pass = 0; pass < times; pass++) done = await drain(this.#stream(), count);
    return done;
  }

  #walk(times: number): Done {
    let [messages, tokens] = [0, 0];
    for (let pass = 0; pass < times; pass++) {
      messages = 0;
      const rows = this.ctx.storage.sql.exec(WALK).raw<[seq: number, id: string, tokens: number, callIds: string | null]>();
      for (const row of rows) {
        messages += 1;
        tokens += row[2];
      }
    }
    if (tokens === 0) throw new Error("the rows have no tokens");
    return { messages, bytes: 0 };
  }

  #stream(): ReadableStream<Uint8Array> {
    const rows = this.ctx.storage.sql.exec("SELECT json FROM messages ORDER BY seq").raw<[json: string]>();
    const encoder = new TextEncoder();
    return new ReadableStream({
      type: "bytes",
      pull(controller: ReadableByteStreamController) {
        const lines: string[] = [];
        for (let next = rows.next(); next.done !== true; next = rows.next()) {
          lines.push(`${next.value[0]}\n`);
          if (lines.length === ROWS_PER_CHUNK) break;
        }
        if (lines.length > 0) controller.enqueue(encoder.encode(lines.join("")));
        if (lines.length < ROWS_PER_CHUNK) {
          controller.close();
          controller.byobRequest?.respond(0);
        }
      },
    });
  }
}
