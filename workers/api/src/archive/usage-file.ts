/**
 * A file of usage events: gzipped NDJSON, an event a line. It stands under its tenant's prefix in R2, and the
 * manifest beside it names every file that counts. Written once, never changed.
 */
import { type TenantId, newId } from "@sessionplane/shared/ids";
import type { UsageArchive } from "@sessionplane/shared/ledger-archive";
import type { PricedUsage } from "@sessionplane/shared/usage-event";
import type { ArchivedRow, StoredFile } from "../catalog/usage-archives.ts";
import { NdjsonReader } from "../http/ndjson.ts";

export type ArchivedEvent = {
  readonly session_id: string;
  readonly seq: number;
  readonly recorded_at: number;
  readonly event: PricedUsage;
};

/** A line holds one event: 16 KiB of a provider's report, and what it was priced by. */
const LIMITS = { maxBytes: 512 * 1024 * 1024, maxLineBytes: 256 * 1024 };

const hex = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString("hex");
const lineOf = ({ session_id, seq, recorded_at, event }: ArchivedRow): string =>
  `{"session_id":${JSON.stringify(session_id)},"seq":${seq},"recorded_at":${recorded_at},"event":${event}}\n`;

const folderOf = (tenant: TenantId): string => `${tenant}/usage/`;

export async function putFile(bucket: R2Bucket, tenant: TenantId, rows: readonly ArchivedRow[]): Promise<StoredFile> {
  const text = new Blob(rows.map(lineOf)).stream();
  const bytes = await new Response(text.pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
  const sha256 = await crypto.subtle.digest("SHA-256", bytes);
  const id = newId("archive");
  const key = `${folderOf(tenant)}${id}.ndjson.gz`;
  await bucket.put(key, bytes, { sha256, httpMetadata: { contentType: "application/x-ndjson", contentEncoding: "gzip" } });
  return { id, key, bytes: bytes.byteLength, sha256: hex(sha256) };
}

/** Its bytes are not those that were written. */
export class DamagedArchive extends Error {
  override readonly name = "DamagedArchive";
}

/** Every event of a file, once its bytes are known to be the ones that were written. */
export async function* readFile(bucket: R2Bucket, file: Pick<UsageArchive, "key" | "sha256">): AsyncGenerator<ArchivedEvent> {
  const object = await bucket.get(file.key);
  if (object === null) throw new DamagedArchive(`${file.key} is not there`);
  const bytes = await object.arrayBuffer();
  if (hex(await crypto.subtle.digest("SHA-256", bytes)) !== file.sha256) throw new DamagedArchive(`${file.key} was changed`);
  const unzipped = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  for await (const read of new NdjsonReader(unzipped, LIMITS)) {
    if (!("text" in read)) throw new DamagedArchive(`${file.key} has a line that can't be read`);
    // Its bytes are ours: they were checked when they came in.
    yield JSON.parse(read.text) as ArchivedEvent;
  }
}

/** What of the tenant's is archived, for whoever reads the bucket without us. */
export async function putManifest(bucket: R2Bucket, tenant: TenantId, files: readonly UsageArchive[]): Promise<void> {
  const manifest = { version: 1, tenant_id: tenant, files };
  await bucket.put(`${folderOf(tenant)}manifest.json`, JSON.stringify(manifest, null, 2), {
    httpMetadata: { contentType: "application/json" },
  });
}
