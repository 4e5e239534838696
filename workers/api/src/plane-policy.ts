/**
 * What the plane's operator sets for all tenants: the variable `COMPACTION_POLICY`, JSON. A tenant's own settings
 * go before it, a session's before both. A value that makes no sense stops every request: it is a deployment's fault.
 */
import { type CompactionPolicyPatch, compactionPolicyPatchSchema } from "@sessionplane/shared/compaction-policy";
import type { TenantSettings } from "@sessionplane/shared/tenant";

/** Lives as long as the isolate. */
let known: { readonly text: string; readonly policy: CompactionPolicyPatch } | undefined;

function parse(text: string): CompactionPolicyPatch {
  const policy = compactionPolicyPatchSchema.safeParse(JSON.parse(text));
  if (!policy.success) throw new Error(`COMPACTION_POLICY is no compaction policy: ${policy.error.message}`);
  return policy.data;
}

export function planePolicy({ COMPACTION_POLICY: text }: { readonly COMPACTION_POLICY: string }): CompactionPolicyPatch {
  if (known?.text !== text) known = { text, policy: parse(text) };
  return known.policy;
}

/** The tenant's settings on top of the plane's. */
export const onPlane = (env: { readonly COMPACTION_POLICY: string }, settings: TenantSettings): TenantSettings => ({
  ...settings,
  compaction: { ...planePolicy(env), ...settings.compaction },
});
