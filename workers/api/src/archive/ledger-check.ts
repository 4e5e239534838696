/**
 * Sums held against the events that they are made of, and made of them again. Where a range is old its events are
 * in files and its sums by day: then it is summed up whole, and rebuilt as quarters, which become days again. What
 * is archived meanwhile makes it begin again.
 */
import { formatInstant } from "@sessionplane/shared/fields";
import type { UsageArchive } from "@sessionplane/shared/ledger-archive";
import type { LedgerCheck, RollupDifference } from "@sessionplane/shared/ledger-check";
import { formatMoney } from "@sessionplane/shared/money";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AuditEntry } from "../catalog/audit-events.ts";
import { type CatalogDb, connect } from "../catalog/db.ts";
import { type KeyedSum, type RollupRange, presentSums, rollupDifferences, sessionDifferences } from "../catalog/rollups.ts";
import { rebuildRollups } from "../catalog/rebuild-rollups.ts";
import { archivesOf } from "../catalog/usage-archives.ts";
import { dayCutBy, hasDays } from "../catalog/usage-days.ts";
import { Sums, sumsOfEvent } from "./sums.ts";
import { DamagedArchive, readFile } from "./usage-file.ts";

/** The bindings that it needs. */
type Stores = { readonly CATALOG: D1Database; readonly CONTENT: R2Bucket };

const MAX_SHOWN = 100;
/** A step of archiving takes a range once, or a few times. */
const MAX_ATTEMPTS = 5;

const BUSY = problem("unavailable", "The range is being archived: ask again.");

type Old = { readonly files: readonly UsageArchive[] };

/** Null: everything of the range is in the catalog, by quarters. */
async function oldPart(db: CatalogDb, { tenantId, start, end }: RollupRange): Promise<Old | null> {
  const files = await archivesOf(db, tenantId, start, end);
  return files.length > 0 || (await hasDays(db, tenantId, start, end)) ? { files } : null;
}

async function cutDay(db: CatalogDb, { tenantId, start, end }: RollupRange): Promise<Problem | null> {
  for (const [pointer, instant] of Object.entries({ "/start": start, "/end": end })) {
    const day = await dayCutBy(db, tenantId, [instant]);
    if (day !== null)
      return fieldProblem(
        "invalid",
        pointer,
        `cuts the day from ${formatInstant(day.start)} to ${formatInstant(day.end)}, which is kept whole`,
      );
  }
  return null;
}

/** The sums of those events of the range that are in files, by quarters. */
async function sumsOfFiles({ CONTENT }: Stores, range: RollupRange, files: readonly UsageArchive[]): Promise<Sums> {
  const sums = new Sums();
  for (const file of files) {
    for await (const archived of readFile(CONTENT, file)) {
      const { occurred_at: at } = archived.event;
      if (at >= range.start && at < range.end) for (const sum of sumsOfEvent(archived)) sums.add(sum);
    }
  }
  return sums;
}

const shown = ({
  bucket,
  user_id: user,
  list_nano: list,
  billed_nano: billed,
  session_id,
  ...sum
}: KeyedSum): RollupDifference => ({
  ...sum,
  start: formatInstant(bucket),
  session_id,
  user_id: user === "" ? null : user,
  list: formatMoney(list),
  billed: formatMoney(billed),
});

async function oldDifferences(stores: Stores, range: RollupRange, { files }: Old): Promise<RollupDifference[]> {
  const whole = { bucket: range.start };
  const filed = await sumsOfFiles(stores, range, files);
  const { events, kept } = await presentSums(connect(stores.CATALOG), range);
  const difference = new Sums();
  for (const sum of [...filed.all(), ...events]) difference.add({ ...sum, ...whole });
  for (const sum of kept) difference.add({ ...sum, ...whole }, -1);
  return difference.differences().slice(0, MAX_SHOWN).map(shown);
}

/** A file that was changed or lost is for an operator to know, and no reason to count without it. */
async function orDamage<T>(work: () => Promise<Result<T, Problem>>): Promise<Result<T, Problem>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DamagedArchive) return err(problem("archive_damaged", `The archived file ${error.message}.`));
    throw error;
  }
}

export const checkLedger = (stores: Stores, range: RollupRange): Promise<Result<LedgerCheck, Problem>> =>
  orDamage(() => check(stores, range));

export const rebuildLedger = (stores: Stores, range: RollupRange, audit: AuditEntry): Promise<Result<LedgerCheck, Problem>> =>
  orDamage(() => rebuild(stores, range, audit));

const isSame = (before: Old | null, after: Old | null): boolean => before?.files.length === after?.files.length;

async function check(stores: Stores, range: RollupRange): Promise<Result<LedgerCheck, Problem>> {
  const db = connect(stores.CATALOG);
  let old = await oldPart(db, range);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const rollups = old === null ? await rollupDifferences(db, range, MAX_SHOWN) : await oldDifferences(stores, range, old);
    const sessions = await sessionDifferences(db, range, MAX_SHOWN);
    const before = old;
    old = await oldPart(db, range);
    // After what was read: a day that was made meanwhile is found too.
    const cut = old === null ? null : await cutDay(db, range);
    if (cut !== null) return err(cut);
    if (isSame(before, old)) return ok({ sound: rollups.length === 0 && sessions.length === 0, rollups, sessions });
  }
  return err(BUSY);
}

async function rebuild(stores: Stores, range: RollupRange, audit: AuditEntry): Promise<Result<LedgerCheck, Problem>> {
  const db = connect(stores.CATALOG);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const files = await archivesOf(db, range.tenantId, range.start, range.end);
    const cut = await cutDay(db, range);
    if (cut !== null) return err(cut);
    const filed = { files: files.length, sums: (await sumsOfFiles(stores, range, files)).all() };
    if (await rebuildRollups(db, range, filed, audit)) return check(stores, range);
  }
  return err(BUSY);
}
