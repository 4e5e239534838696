/**
 * A tenant's skills as the routes use them: R2 first, which is the truth, then the catalog's list. A request
 * whose second step failed says 503, and repeating it heals the list, be it accepted, refused or unchanged.
 */
import type { TenantId } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import {
  type ExpectedSkill,
  SkillBucket,
  type SkillDeletion,
  type SkillDraft,
  type SkillRefusal,
  type SkillWrite,
} from "@sessionplane/engine/context/skill-bucket";
import { connect } from "./catalog/db.ts";
import { recordDeletion, recordSkill } from "./catalog/skills.ts";
import type { ApiEnv } from "./env.ts";
import { Unavailable } from "./http/problems.ts";

const UNEXPECTED = problem("precondition_failed", "The skill is not what If-Match or If-None-Match expects.");
const CONTENDED = problem("unavailable", "Others went on writing this skill. Try again.");

const toProblem = ({ reason }: SkillRefusal): Problem => (reason === "unexpected" ? UNEXPECTED : CONTENDED);

/** R2 and D1 tell their failures by throwing. */
async function answered<T>(who: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new Unavailable(`${who} did not answer`, { cause });
  }
}

/** One read of the tenant's bucket. */
export const readSkills = <T>(env: ApiEnv, tenantId: TenantId, read: (skills: SkillBucket) => Promise<T>): Promise<T> =>
  answered("R2", read(new SkillBucket(env.CONTENT, tenantId)));

export async function putSkill(
  env: ApiEnv,
  tenantId: TenantId,
  key: string,
  draft: SkillDraft,
  expected?: ExpectedSkill,
): Promise<Result<SkillWrite, Problem>> {
  const result = await answered("R2", new SkillBucket(env.CONTENT, tenantId).put(key, draft, expected));
  const current = result.ok ? result.value.skill : result.error.current;
  if (current !== null) await answered("D1", recordSkill(connect(env.CATALOG), tenantId, current));
  return result.ok ? result : err(toProblem(result.error));
}

export async function deleteSkill(
  env: ApiEnv,
  tenantId: TenantId,
  key: string,
  expected?: number,
): Promise<Result<SkillDeletion, Problem>> {
  const result = await answered("R2", new SkillBucket(env.CONTENT, tenantId).delete(key, expected));
  if (!result.ok) return err(toProblem(result.error));
  const { deleted, lastVersion } = result.value;
  if (lastVersion > 0) await answered("D1", recordDeletion(connect(env.CATALOG), tenantId, key, lastVersion));
  return deleted ? ok(result.value) : err(NOT_FOUND);
}
