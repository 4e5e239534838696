/**
 * Prices on their way into the `prices` table, one or thousands at once. Rows are never changed: an entry is
 * new, there already, or in conflict with another amount of the same moment.
 */
import { sql } from "drizzle-orm";
import { newId } from "@sessionplane/shared/ids";
import { parseUsdPerMillion } from "@sessionplane/shared/money";
import type { NewPrice } from "@sessionplane/shared/price";
import { type AuditEntry, auditStatement } from "./audit-events.ts";
import type { CatalogDb } from "./db.ts";
import { prices } from "./ledger-schema.ts";

/** In place of a tenant in the plane's own prices: a unique index treats nulls as different. */
export const PLANE = "";
const DEFAULT_SOURCE = "operator";

/** Of one statement's JSON parameter: D1 refuses one over 2 MB. */
const MAX_PARAMETER_BYTES = 900_000;

export type PriceEntry = {
  readonly id: string;
  readonly tenant: string;
  readonly provider: string;
  readonly model: string;
  readonly class: string;
  readonly tier: number;
  readonly femto: number;
  readonly from: number;
  readonly source: string;
};

export function toEntry(price: NewPrice, id: string = newId("price")): PriceEntry {
  const femto = parseUsdPerMillion(price.usd_per_million);
  if (femto === null) throw new Error("the schema let through what is no price");
  return {
    id,
    tenant: price.tenant_id ?? PLANE,
    provider: price.provider,
    model: price.model,
    class: price.class,
    tier: price.tier_min ?? 0,
    femto,
    from: Date.parse(price.effective_from),
    source: price.source ?? DEFAULT_SOURCE,
  };
}

/** What only one amount may hold for. */
export const momentOf = ({ tenant, provider, model, class: name, tier, from }: PriceEntry): string =>
  JSON.stringify([tenant, provider, model, name, tier, from]);

export type Verdict = "new" | "unchanged" | "conflict";

type Chunk = { readonly first: number; readonly json: string };

/** The entries as JSON arrays that each fit one parameter. */
function chunksOf(entries: readonly PriceEntry[]): Chunk[] {
  const chunks: { first: number; texts: string[]; bytes: number }[] = [];
  for (const [index, entry] of entries.entries()) {
    const text = JSON.stringify(entry);
    const bytes = new TextEncoder().encode(text).byteLength + 1;
    const last = chunks.at(-1);
    if (last !== undefined && last.bytes + bytes <= MAX_PARAMETER_BYTES) {
      last.texts.push(text);
      last.bytes += bytes;
    } else chunks.push({ first: index, texts: [text], bytes });
  }
  return chunks.map(({ first, texts }) => ({ first, json: `[${texts.join(",")}]` }));
}

/** CROSS JOIN seeks each entry in the unique index, whatever the planner thinks of their number. */
const compareStatement = (db: CatalogDb, { json }: Chunk) =>
  db.all<{ line: number; same: number }>(sql`
SELECT e.key AS line, p.femto_usd_per_token = (e.value->>'$.femto') AS same
FROM json_each(${json}) AS e CROSS JOIN prices AS p ON p.provider = (e.value->>'$.provider') AND p.model = (e.value->>'$.model')
  AND p.tenant_id = (e.value->>'$.tenant') AND p.class = (e.value->>'$.class') AND p.tier_min = (e.value->>'$.tier')
  AND p.effective_from = (e.value->>'$.from')`);

/** The columns in the order of the table: drizzle names them all. */
const insertStatement = (db: CatalogDb, { json }: Chunk, recordedAt: number) =>
  db
    .insert(prices)
    .select(
      sql`SELECT value->>'$.id', value->>'$.tenant', value->>'$.provider', value->>'$.model', value->>'$.class', value->>'$.tier',
  value->>'$.femto', value->>'$.from', ${recordedAt}, value->>'$.source' FROM json_each(${json}) WHERE true`,
    )
    .onConflictDoNothing();

/** For each entry whether its moment is free, holds the same amount already, or another one. */
export async function compareEntries(db: CatalogDb, entries: readonly PriceEntry[]): Promise<Verdict[]> {
  const verdicts = entries.map((): Verdict => "new");
  for (const chunk of chunksOf(entries)) {
    for (const { line, same } of await compareStatement(db, chunk)) {
      verdicts[chunk.first + line] = same === 1 ? "unchanged" : "conflict";
    }
  }
  return verdicts;
}

/** All of them and the audit entry, or nothing. A moment that someone else took in between keeps what it has. */
export async function insertEntries(db: CatalogDb, entries: readonly PriceEntry[], audit: AuditEntry): Promise<void> {
  const recordedAt = Date.now();
  const inserts = chunksOf(entries).map((chunk) => insertStatement(db, chunk, recordedAt));
  await db.batch([auditStatement(db, audit), ...inserts]);
}

/** Those of the ids that are no tenant's. */
export async function unknownTenants(db: CatalogDb, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.all<{ id: string }>(
    sql`SELECT value AS id FROM json_each(${JSON.stringify(ids)}) WHERE value NOT IN (SELECT id FROM tenants)`,
  );
  return new Set(rows.map((row) => row.id));
}
