/**
 * Where a session lives: the database of a Durable Object, reached in whichever way the caller has at hand.
 * Source of the `sql` method: the `Agent` class of Cloudflare's Agents packages.
 */
import type { Database } from "../storage/sqlite/database.ts";
import { SessionError } from "./session-error.ts";
import { type SqlTag, databaseOfTag } from "./storage/sql-tag.ts";

/** An object with a tagged template method `sql` that returns the rows. */
export type SqlHost = { readonly sql: SqlTag };
/** A `DurableObjectState`, or an object that shows one as `ctx`. */
export type StateHost = { readonly storage: DurableObjectStorage };
export type ContextHost = { readonly ctx: StateHost };

/**
 * - a Durable Object itself (`this`; an `Agent` is one), its `ctx` or its `ctx.storage`
 * - any object with a `sql` template method. Without a `ctx` there are no transactions to ask for: the platform
 *   still keeps all writes of one call or none, except that a failure in its midst does not undo what came before
 */
export type SessionHost = SqlHost | StateHost | ContextHost | DurableObjectStorage | Rpc.DurableObjectBranded;

/**
 * The database, and the object by which other handles on it are found. `isShared`: there may be handles on it that
 * can't be found, so nothing of it may be kept in memory.
 */
export type HostDatabase = { readonly key: object; readonly database: Database; readonly isShared: boolean };

const field = (object: unknown, name: string): unknown =>
  typeof object === "object" && object !== null ? Reflect.get(object, name) : undefined;

const isStorage = (value: unknown): value is DurableObjectStorage =>
  typeof field(value, "transactionSync") === "function" && field(value, "sql") !== undefined;

const isTag = (value: unknown): value is SqlHost => typeof field(value, "sql") === "function";

/** Throws `invalid_argument` for an object that gives no database. */
export function databaseOf(host: SessionHost): HostDatabase {
  for (const storage of [host, field(host, "storage"), field(field(host, "ctx"), "storage")]) {
    if (isStorage(storage)) return { key: storage, database: storage, isShared: false };
  }
  if (isTag(host)) return { key: host, database: databaseOfTag(host), isShared: true };
  throw new SessionError(
    "invalid_argument",
    "a session needs a Durable Object, its ctx or storage, or an object with a sql method",
  );
}
