/** Fields that several resources share: metadata, external ids, instants. */
import * as z from "zod";

export const MAX_METADATA_PAIRS = 16;

const metadataKey = z.string().min(1).max(64);
const metadataValue = z.string().max(512);
const withinPairs = (pairs: object) => Object.keys(pairs).length <= MAX_METADATA_PAIRS;
const tooManyPairs = { message: `at most ${MAX_METADATA_PAIRS} pairs` };

export const metadataSchema = z.record(metadataKey, metadataValue).refine(withinPairs, tooManyPairs);
/** In a PATCH, null deletes a key. */
export const metadataPatchSchema = z.record(metadataKey, metadataValue.nullable()).refine(withinPairs, tooManyPairs);
export type Metadata = z.infer<typeof metadataSchema>;
export type MetadataPatch = z.infer<typeof metadataPatchSchema>;

export function mergeMetadata(current: Metadata, patch: MetadataPatch): Metadata {
  const merged = { ...current };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  return merged;
}

export const externalIdSchema = z.string().min(1).max(64);
export const nameSchema = z.string().trim().min(1).max(200);
export const userIdSchema = z.string().min(1).max(128);
export const tagsSchema = z.array(z.string().min(1).max(64)).max(16);

/** RFC 3339 with an offset; what we send is always UTC with milliseconds. */
export const instantSchema = z.iso.datetime({ offset: true }).meta({ example: "2026-01-01T00:00:00.000Z" });
export const formatInstant = (epochMs: number): string => new Date(epochMs).toISOString();
export const formatInstantOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : formatInstant(epochMs));
