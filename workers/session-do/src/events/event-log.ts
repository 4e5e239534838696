/**
 * What happened, for listeners: read from the log's own tables. A message and a usage event are their own
 * record; what leaves none (an edit, a deletion, a choice, a state of a job) has a row in `events`.
 */
import type { SessionEvent, SessionEventType } from "@sessionplane/shared/session-event";

/** Types that have a row of their own. */
type NotedType = Exclude<SessionEventType, "append" | "usage">;

type LoggedRow = { seq: number; type: SessionEventType; data: string | null };

const part = (type: string, table: string, data: string): string =>
  `SELECT * FROM (SELECT seq, ${type} AS type, ${data} AS data FROM ${table} WHERE seq > ?1 ORDER BY seq LIMIT ?2)`;
const AFTER = `${[
  part("'append'", "messages", "NULL"),
  part("type", "events", "data"),
  part("'usage'", "usage_events", "json_object('id', id, 'event', json(event))"),
].join(" UNION ALL ")} ORDER BY seq LIMIT ?2`;

/** An event whose content is read when it is sent: of an `append` and an `update`, the message as it is then. */
export type LoggedEvent = Pick<SessionEvent, "seq" | "type"> & { readonly data: string | null };

export class EventLog {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** In the transaction of what happened. `seq`: its number in the log. */
  note(seq: number, type: NotedType, data: object): void {
    this.#sql.exec("INSERT INTO events (seq, type, data) VALUES (?, ?, ?)", seq, type, JSON.stringify(data));
  }

  after(seq: number, limit: number): LoggedEvent[] {
    return this.#sql.exec<LoggedRow>(AFTER, seq, limit).toArray();
  }
}
