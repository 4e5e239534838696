/** The `idempotency` table: one row a request with an `Idempotency-Key`, claimed before its effect. */
import { and, eq, lt } from "drizzle-orm";
import { newId } from "@sessionplane/shared/ids";
import type { CatalogDb } from "./db.ts";
import { idempotency } from "./schema.ts";

/** A claim that its request left behind may be taken over after this. */
const LOCK_MS = 60_000;
/** Replies are kept at least a day; the sweep runs now and then. */
const KEPT_MS = 48 * 60 * 60 * 1000;

export type Claim =
  | { readonly kind: "run"; readonly resourceSeed: string }
  | { readonly kind: "replay"; readonly status: number; readonly body: string }
  | { readonly kind: "mismatch" }
  | { readonly kind: "in_progress" };

export async function claim(db: CatalogDb, owner: string, key: string, fingerprint: string): Promise<Claim> {
  const now = Date.now();
  const [inserted] = await db
    .insert(idempotency)
    .values({ owner, key, fingerprint, resourceSeed: newId("request"), lockedUntil: now + LOCK_MS, createdAt: now })
    .onConflictDoNothing()
    .returning();
  if (inserted !== undefined) return { kind: "run", resourceSeed: inserted.resourceSeed };
  const row = await db.select().from(idempotency).where(at(owner, key)).get();
  // The first request was refused between the two statements, and took its claim back.
  if (row === undefined) return { kind: "in_progress" };
  if (row.fingerprint !== fingerprint) return { kind: "mismatch" };
  if (row.status !== null && row.body !== null) return { kind: "replay", status: row.status, body: row.body };
  const [taken] = await db
    .update(idempotency)
    .set({ lockedUntil: now + LOCK_MS })
    .where(and(at(owner, key), eq(idempotency.lockedUntil, row.lockedUntil), lt(idempotency.lockedUntil, now)))
    .returning();
  return taken === undefined ? { kind: "in_progress" } : { kind: "run", resourceSeed: taken.resourceSeed };
}

export async function complete(db: CatalogDb, owner: string, key: string, status: number, body: string): Promise<void> {
  await db.update(idempotency).set({ status, body }).where(at(owner, key));
}

/** The request had no effect: the key may be used again. */
export async function release(db: CatalogDb, owner: string, key: string): Promise<void> {
  await db.delete(idempotency).where(at(owner, key));
}

export async function deleteExpired(db: CatalogDb): Promise<void> {
  await db.delete(idempotency).where(lt(idempotency.createdAt, Date.now() - KEPT_MS));
}

const at = (owner: string, key: string) => and(eq(idempotency.owner, owner), eq(idempotency.key, key));
