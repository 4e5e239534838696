/**
 * The `skills` table: what R2 holds, for lists. Versions of a key only rise, over deletions too, so that an
 * older row never overwrites a newer one, in whatever order they are written.
 */
import { and, asc, desc, eq, gt, gte, isNull, lt, sql } from "drizzle-orm";
import { formatInstant } from "@sessionplane/shared/fields";
import type { TenantId } from "@sessionplane/shared/ids";
import type { Skill } from "@sessionplane/shared/skill";
import type { CatalogDb } from "./db.ts";
import { skills } from "./schema.ts";

type Row = typeof skills.$inferSelect;

/** Every column but the key, from the row that could not be inserted. */
const THE_NEW_ROW = {
  version: sql`excluded.version`,
  description: sql`excluded.description`,
  sha256: sql`excluded.sha256`,
  bytes: sql`excluded.bytes`,
  tokenEstimate: sql`excluded.token_estimate`,
  createdAt: sql`excluded.created_at`,
  updatedAt: sql`excluded.updated_at`,
  deletedAt: sql`excluded.deleted_at`,
};

/** What R2 says of a skill. */
export async function recordSkill(db: CatalogDb, tenantId: TenantId, skill: Skill): Promise<void> {
  const row: Row = {
    tenantId,
    key: skill.key,
    version: skill.version,
    description: skill.description,
    sha256: skill.sha256,
    bytes: skill.bytes,
    tokenEstimate: skill.token_estimate,
    createdAt: Date.parse(skill.created_at),
    updatedAt: Date.parse(skill.updated_at),
    deletedAt: null,
  };
  await db
    .insert(skills)
    .values(row)
    .onConflictDoUpdate({
      target: [skills.tenantId, skills.key],
      set: THE_NEW_ROW,
      setWhere: sql`excluded.version > ${skills.version}`,
    });
}

/** That a skill is gone whose last version was this one. */
export async function recordDeletion(db: CatalogDb, tenantId: TenantId, key: string, version: number): Promise<void> {
  const now = Date.now();
  const nothing = { description: null, sha256: "", bytes: 0, tokenEstimate: 0 };
  await db
    .insert(skills)
    .values({ tenantId, key, version, ...nothing, createdAt: now, updatedAt: now, deletedAt: now })
    .onConflictDoUpdate({
      target: [skills.tenantId, skills.key],
      set: THE_NEW_ROW,
      setWhere: sql`excluded.version >= ${skills.version}`,
    });
}

/** Sorts after every character of a key: what begins with a text lies below the text and this. */
const PAST_ALL_KEYS = "\u{10FFFF}";

export type SkillFilter = {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The key that the last page ended with. */
  readonly after?: string | undefined;
  readonly prefix: string;
};

/** By key; one row more than the limit. */
export async function listSkills(db: CatalogDb, tenantId: TenantId, filter: SkillFilter): Promise<Skill[]> {
  const { after, prefix, order } = filter;
  const beyond = order === "asc" ? gt : lt;
  const rows = await db
    .select()
    .from(skills)
    .where(
      and(
        eq(skills.tenantId, tenantId),
        isNull(skills.deletedAt),
        gte(skills.key, prefix),
        lt(skills.key, prefix + PAST_ALL_KEYS),
        after === undefined ? undefined : beyond(skills.key, after),
      ),
    )
    .orderBy(order === "asc" ? asc(skills.key) : desc(skills.key))
    .limit(filter.limit + 1)
    .all();
  return rows.map(toSkill);
}

const toSkill = (row: Row): Skill => ({
  key: row.key,
  version: row.version,
  description: row.description,
  bytes: row.bytes,
  token_estimate: row.tokenEstimate,
  sha256: row.sha256,
  created_at: formatInstant(row.createdAt),
  updated_at: formatInstant(row.updatedAt),
});
