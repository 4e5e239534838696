/** A tenant's settings after a change. Pure. */
import { type CompactionPolicyPatch, compactionPolicySchema, layerPolicies } from "@sessionplane/shared/compaction-policy";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { CreateTenant, TenantSettings } from "@sessionplane/shared/tenant";

type SettingsPatch = NonNullable<CreateTenant["settings"]>;

/** The patch over the present settings, or why the compaction policy contradicts itself that they make with the plane's. */
export function mergeSettings(
  present: TenantSettings,
  patch: SettingsPatch,
  plane: CompactionPolicyPatch,
): Result<TenantSettings, Problem> {
  const merged = { ...present, ...patch, compaction: { ...present.compaction, ...patch.compaction } } as TenantSettings;
  const policy = compactionPolicySchema.safeParse(layerPolicies(plane, merged.compaction));
  if (policy.success) return ok(merged);
  const errors = policy.error.issues.map((issue) => ({
    pointer: `/settings/compaction/${issue.path.join("/")}`,
    code: "contradiction",
    message: issue.message,
  }));
  return err(problem("invalid", `The compaction policy contradicts itself: ${errors[0]?.message ?? ""}.`, { errors }));
}
