/** A credential. Stored as a hash; the secret is in the reply that makes it and nowhere else. */
import * as z from "zod";
import { instantSchema, nameSchema } from "./fields.ts";

export const TENANT_SCOPES = [
  "sessions:read",
  "sessions:write",
  "sessions:write-as-server",
  "skills:read",
  "skills:write",
  "usage:read",
  "usage:write",
] as const;
export const OPERATOR_SCOPES = [
  "tenants:read",
  "tenants:write",
  "keys:write",
  "prices:write",
  "reports:read",
  "operations:write",
  "audit:read",
  "content:read",
] as const;

export const tenantScopeSchema = z.enum(TENANT_SCOPES);
export const operatorScopeSchema = z.enum(OPERATOR_SCOPES);
export type Scope = z.infer<typeof tenantScopeSchema> | z.infer<typeof operatorScopeSchema>;

const scopesOf = <T extends z.ZodType>(scope: T) =>
  z
    .array(scope)
    .min(1)
    .refine((scopes) => new Set(scopes).size === scopes.length, { message: "a scope is named twice" });

export const createTenantKeySchema = z
  .strictObject({
    name: nameSchema,
    scopes: scopesOf(tenantScopeSchema),
    mode: z.enum(["live", "test"]).optional(),
    expires_at: instantSchema.optional(),
  })
  .meta({ id: "CreateTenantKey" });
export const createOperatorKeySchema = z
  .strictObject({ name: nameSchema, scopes: scopesOf(operatorScopeSchema), expires_at: instantSchema.optional() })
  .meta({ id: "CreateOperatorKey" });

export const apiKeySchema = z
  .object({
    id: z.string(),
    tenant_id: z.string().nullable(),
    name: z.string(),
    start: z.string().meta({ description: "The first characters, to recognise it by" }),
    scopes: z.array(z.string()),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    revoked_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "ApiKey" });
export type ApiKey = z.infer<typeof apiKeySchema>;

export const createdApiKeySchema = apiKeySchema.extend({ key: z.string() }).meta({ id: "CreatedApiKey" });
