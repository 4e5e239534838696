/**
 * How skills lie in R2: keys, and the metadata that describes a document. `SkillBucket` alone uses it. Pure.
 *
 * `<tenant>/skills/current/<key>` says where a skill stands. Its body is that standing as text, never the
 * document: R2's ETag is the body's MD5, so only a body that no earlier standing had makes a comparison of
 * ETags a comparison of versions. `<tenant>/skills/versions/<key>/<version>` are the documents, immutable.
 *
 * A deleted skill leaves its last number behind, so that one that is made anew goes on counting.
 */
import * as z from "zod";
import type { TenantId } from "@sessionplane/shared/ids";
import type { Skill } from "@sessionplane/shared/skill";

/** Padded, so that R2's order is the order of numbers. */
const VERSION_DIGITS = 10;

export const currentPrefix = (tenantId: TenantId): string => `${tenantId}/skills/current/`;
export const currentKey = (tenantId: TenantId, key: string): string => currentPrefix(tenantId) + key;
export const versionsPrefix = (tenantId: TenantId, key: string): string => `${tenantId}/skills/versions/${key}/`;
export const versionKey = (tenantId: TenantId, key: string, version: number): string =>
  versionsPrefix(tenantId, key) + String(version).padStart(VERSION_DIGITS, "0");

export const lastSegment = (key: string): string => key.slice(key.lastIndexOf("/") + 1);

export type Standing =
  | { readonly kind: "live"; readonly skill: Skill; readonly firstVersion: number }
  /** `version`: the last number that was used. */
  | { readonly kind: "deleted"; readonly version: number };

export const lastVersion = (standing: Standing | null): number => {
  if (standing === null) return 0;
  return standing.kind === "live" ? standing.skill.version : standing.version;
};

/** Differs from the body of every other standing of this key. */
export const bodyOf = (standing: Standing): string => `${standing.kind} ${lastVersion(standing)}`;

/** R2 keeps metadata in headers, 8 KiB in all: a description of 400 characters takes less than 5 of it. */
const encode = encodeURIComponent;

const encodedText = z.string().transform((text, ctx) => {
  try {
    return decodeURIComponent(text);
  } catch {
    ctx.addIssue("is not percent-encoded UTF-8");
    return z.NEVER;
  }
});
const number = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

const liveSchema = z.object({
  version: number,
  first_version: number,
  description: encodedText.optional(),
  bytes: number,
  token_estimate: number,
  sha256: z.string(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
const deletedSchema = z.object({ deleted_version: number });

export function metadataOf(standing: Standing): Record<string, string> {
  if (standing.kind === "deleted") return { deleted_version: String(standing.version) };
  const { version, description, bytes, token_estimate, sha256, created_at, updated_at } = standing.skill;
  return {
    version: String(version),
    first_version: String(standing.firstVersion),
    ...(description === null ? {} : { description: encode(description) }),
    bytes: String(bytes),
    token_estimate: String(token_estimate),
    sha256,
    created_at,
    updated_at,
  };
}

/** What the metadata says of the skill with this key; null when the object is none of ours. */
export function standingOf(key: string, metadata: unknown): Standing | null {
  const deleted = deletedSchema.safeParse(metadata);
  if (deleted.success) return { kind: "deleted", version: deleted.data.deleted_version };
  const live = liveSchema.safeParse(metadata);
  if (!live.success) return null;
  const { first_version: firstVersion, description = null, ...rest } = live.data;
  return { kind: "live", firstVersion, skill: { key, ...rest, description } };
}
