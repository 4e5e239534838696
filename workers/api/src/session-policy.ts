/** Whether a session's compaction policy makes sense on top of its tenant's. Pure. */
import { type CompactionPolicyPatch, compactionPolicySchema, layerPolicies } from "@sessionplane/shared/compaction-policy";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import type { TenantPrincipal } from "./http/principal.ts";

/** Null when they make sense together. */
export function policyContradiction(compaction: CompactionPolicyPatch, tenant: TenantPrincipal): Problem | null {
  const policy = compactionPolicySchema.safeParse(layerPolicies(tenant.settings.compaction, compaction));
  if (policy.success) return null;
  const [issue] = policy.error.issues;
  return fieldProblem("invalid", `/compaction/${issue?.path.join("/") ?? ""}`, issue?.message ?? "contradicts itself");
}
