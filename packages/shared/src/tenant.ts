/** A tenant: the boundary of isolation, billing and erasure. */
import * as z from "zod";
import { compactionPolicyPatchSchema } from "./compaction-policy.ts";
import { externalIdSchema, metadataPatchSchema, metadataSchema, nameSchema } from "./fields.ts";
import { roleSchema } from "./message.ts";

const timeZone = z.string().refine(
  (zone) => {
    try {
      return new Intl.DateTimeFormat("en", { timeZone: zone }).format(0) !== "";
    } catch {
      return false;
    }
  },
  { message: "must be an IANA time zone" },
);
export const timeZoneSchema = timeZone.meta({ example: "Europe/Prague" });

const settingsFields = {
  default_model: z.string().min(1).max(200).nullable(),
  compaction: compactionPolicyPatchSchema,
  client_roles: z.array(roleSchema).max(4).meta({ description: "Roles that an untrusted client may write" }),
  reserved_metadata_keys: z.array(z.string().min(1).max(64)).max(64),
  billing_timezone: timeZone,
  markup_bps: z.int().min(-10_000).max(1_000_000).meta({ description: "Added to list cost, in basis points" }),
  trust_provider_cost: z.boolean().meta({
    description: "A call that has no price costs what its `provider_cost` says",
  }),
};

export const tenantSettingsSchema = z.strictObject(settingsFields).meta({ id: "TenantSettings" });
export type TenantSettings = z.infer<typeof tenantSettingsSchema>;

export const DEFAULT_TENANT_SETTINGS: TenantSettings = {
  default_model: null,
  compaction: {},
  client_roles: ["user"],
  reserved_metadata_keys: [],
  billing_timezone: "UTC",
  markup_bps: 0,
  trust_provider_cost: false,
};

/** Settings as they were stored, perhaps before some of them were there. */
export const withDefaults = (stored: Partial<TenantSettings>): TenantSettings => ({ ...DEFAULT_TENANT_SETTINGS, ...stored });

const settingsPatch = z.strictObject(settingsFields).partial();

export const tenantStatusSchema = z.enum(["active", "suspended"]);

export const createTenantSchema = z
  .strictObject({
    name: nameSchema,
    external_id: externalIdSchema.optional(),
    metadata: metadataSchema.optional(),
    settings: settingsPatch.optional(),
  })
  .meta({ id: "CreateTenant" });
export type CreateTenant = z.infer<typeof createTenantSchema>;

export const patchTenantSchema = z
  .strictObject({ name: nameSchema.optional(), metadata: metadataPatchSchema.optional(), settings: settingsPatch.optional() })
  .meta({ id: "PatchTenant" });
export type PatchTenant = z.infer<typeof patchTenantSchema>;

export const tenantSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    external_id: z.string().nullable(),
    status: tenantStatusSchema,
    metadata: metadataSchema,
    settings: tenantSettingsSchema,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    revision: z.int(),
  })
  .meta({ id: "Tenant" });
export type Tenant = z.infer<typeof tenantSchema>;
