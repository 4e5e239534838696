/**
 * What the engine asks of the SQLite database inside an object: a part of the platform's `SqlStorage` and
 * `DurableObjectStorage`, so that other ways to the same database can stand in for them. Types alone.
 *
 * Statements write each of the engine's table and index names in brackets, `FROM [messages]`: SQLite's own
 * quoting, and for who keeps several sessions in one database (`library/storage/numbered.ts`) the marks by
 * which a statement is turned to the tables of one of them.
 */
export type Rows<T extends Record<string, SqlStorageValue>> = {
  toArray(): T[];
  one(): T;
  raw<U extends SqlStorageValue[]>(): Iterable<U>;
  readonly rowsWritten: number;
  [Symbol.iterator](): Iterator<T>;
};

export type Sql = {
  exec<T extends Record<string, SqlStorageValue>>(query: string, ...bindings: unknown[]): Rows<T>;
};

export type Database = {
  readonly sql: Sql;
  transactionSync<T>(work: () => T): T;
};
