/**
 * Sums held against the events that they are made of, and made of them again. Where a range is old its events are
 * in files and its sums by day: then it is summed up whole, and rebuilt as quarters, which become days again.
 */
import { formatInstant } from "@sessionplane/shared/fields";
import type { UsageArchive } from "@sessionplane/shared/ledger-archive";
import type { LedgerCheck, RollupDifference } from "@sessionplane/shared/ledger-check";
import { formatMoney } from "@sessionplane/shared/money";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AuditEntry } from "../catalog/audit-events.ts";
import { type CatalogDb, connect } from "../catalog/db.ts";
import {
  type KeyedSum,
  type RollupRange,
  eventSums,
  keptSums,
  rebuildRollups,
  replaceSums,
  rollupDifferences,
  sessionDifferences,
} from "../catalog/rollups.ts";
import { archivesOf } from "../catalog/usage-archives.ts";
import { dayCutBy, hasDays } from "../catalog/usage-days.ts";
import type { ApiEnv } from "../env.ts";
import { Sums, sumsOfEvent } from "./sums.ts";
import { DamagedArchive, readFile } from "./usage-file.ts";

const MAX_SHOWN = 100;

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

/** The sums of all events of the range, in the catalog and in files, by quarters. */
async function sumsOfEvents(env: ApiEnv, range: RollupRange, { files }: Old): Promise<Sums> {
  const sums = new Sums();
  for (const sum of await eventSums(connect(env.CATALOG), range)) sums.add(sum);
  for (const file of files) {
    for await (const archived of readFile(env.CONTENT, file)) {
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

async function oldDifferences(env: ApiEnv, range: RollupRange, old: Old): Promise<RollupDifference[]> {
  const whole = { bucket: range.start };
  const difference = new Sums();
  for (const sum of (await sumsOfEvents(env, range, old)).all()) difference.add({ ...sum, ...whole });
  for (const sum of await keptSums(connect(env.CATALOG), range)) difference.add({ ...sum, ...whole }, -1);
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

export const checkLedger = (env: ApiEnv, range: RollupRange): Promise<Result<LedgerCheck, Problem>> =>
  orDamage(() => check(env, range));

export const rebuildLedger = (env: ApiEnv, range: RollupRange, audit: AuditEntry): Promise<Result<LedgerCheck, Problem>> =>
  orDamage(() => rebuild(env, range, audit));

async function check(env: ApiEnv, range: RollupRange): Promise<Result<LedgerCheck, Problem>> {
  const db = connect(env.CATALOG);
  const old = await oldPart(db, range);
  const cut = old === null ? null : await cutDay(db, range);
  if (cut !== null) return err(cut);
  const rollups = old === null ? await rollupDifferences(db, range, MAX_SHOWN) : await oldDifferences(env, range, old);
  const sessions = await sessionDifferences(db, range, MAX_SHOWN);
  return ok({ sound: rollups.length === 0 && sessions.length === 0, rollups, sessions });
}

async function rebuild(env: ApiEnv, range: RollupRange, audit: AuditEntry): Promise<Result<LedgerCheck, Problem>> {
  const db = connect(env.CATALOG);
  const old = await oldPart(db, range);
  if (old === null) await rebuildRollups(db, range, audit);
  else {
    const cut = await cutDay(db, range);
    if (cut !== null) return err(cut);
    const sums = await sumsOfEvents(env, range, old);
    await replaceSums(db, range, sums.all(), audit);
  }
  return check(env, range);
}
