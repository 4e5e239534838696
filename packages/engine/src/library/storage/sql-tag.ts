/** The engine's statements through a tagged template method: all that some hosts show of their database. */
import type { Database, Rows, Sql } from "../../storage/sqlite/database.ts";

type TagValue = string | number | boolean | null;
export type SqlTag = <T = Record<string, TagValue>>(strings: TemplateStringsArray, ...values: TagValue[]) => T[];

/** `?` or `?2`. No statement of the engine has one in a text. */
const PLACEHOLDER = /\?(\d*)/g;

type Template = { readonly strings: TemplateStringsArray; readonly order: readonly number[] };

/** What stands around the values, and which value goes where. */
function templateOf(query: string): Template {
  const texts = query.split(/\?\d*/);
  const order = [...query.matchAll(PLACEHOLDER)].map(([, number], index) => (number ? Number(number) - 1 : index));
  return { strings: Object.assign(texts, { raw: texts }), order };
}

/** A statement's rows, all read. */
class TagRows<T extends Record<string, SqlStorageValue>> implements Rows<T> {
  readonly #rows: readonly T[];
  readonly #changes: () => number;

  constructor(rows: readonly T[], changes: () => number) {
    this.#rows = rows;
    this.#changes = changes;
  }

  /** Asked right after the statement, or it is another one's. */
  get rowsWritten(): number {
    return this.#changes();
  }

  toArray(): T[] {
    return [...this.#rows];
  }

  one(): T {
    const [row] = this.#rows;
    if (row === undefined || this.#rows.length > 1) throw new Error(`one row was expected, and there were ${this.#rows.length}`);
    return row;
  }

  *raw<U extends SqlStorageValue[]>(): Generator<U> {
    // By the columns' order: the driver keeps it in the object.
    for (const row of this.#rows) yield Object.values(row) as U;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#rows[Symbol.iterator]();
  }
}

export function databaseOfTag(host: { readonly sql: SqlTag }): Database {
  const templates = new Map<string, Template>();
  const run = <T extends Record<string, SqlStorageValue>>(query: string, values: readonly unknown[]): T[] => {
    const template = templates.get(query) ?? templateOf(query);
    templates.set(query, template);
    // The method's type names what JSON has; the database behind it takes bytes as well.
    return [...host.sql<T>(template.strings, ...template.order.map((index) => values[index] as TagValue))];
  };
  const changes = (): number => run<{ changes: number }>("SELECT changes() AS changes", [])[0]?.changes ?? 0;
  const sql: Sql = {
    exec: <T extends Record<string, SqlStorageValue>>(query: string, ...values: unknown[]) =>
      new TagRows(run<T>(query, values), changes),
  };
  return { sql, transactionSync: (work) => work() };
}
