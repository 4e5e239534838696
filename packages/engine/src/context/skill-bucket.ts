/**
 * The skills of one tenant, in R2: the truth of their documents and of what describes them. `api` writes and
 * reads it, a session's object reads it. It does not judge documents; keys come checked by `skillKeySchema`,
 * except that a read finds nothing under any other text.
 *
 * A write claims a number by creating its document, which only one writer can, and then moves the skill's
 * standing from what it read to that number. Who finds the standing moved takes its document away and starts
 * again. Who dies in between leaves a number that the next writer skips, and takes away. Throws when R2 does.
 */
import { formatInstant } from "@sessionplane/shared/fields";
import type { TenantId } from "@sessionplane/shared/ids";
import { sha256 } from "@sessionplane/shared/json";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { type Skill, type SkillDocument, skillKeySchema } from "@sessionplane/shared/skill";
import { estimateText } from "../tokens/estimate.ts";
import {
  type Standing,
  bodyOf,
  currentKey,
  currentPrefix,
  lastSegment,
  lastVersion,
  metadataOf,
  standingOf,
  versionKey,
  versionsPrefix,
} from "./skill-objects.ts";

export type { Skill, SkillDocument } from "@sessionplane/shared/skill";

/** What a writer expects to be there: a version; `any`, some skill; `none`, no skill. Absent: whatever is. */
export type ExpectedSkill = number | "any" | "none";

export type SkillDraft = {
  readonly content: string;
  /** Null for none; absent keeps what the skill has. */
  readonly description?: string | null | undefined;
};

export type SkillWrite = { readonly skill: Skill; readonly created: boolean; readonly changed: boolean };

/** `unexpected`: the writer expected another skill than `current`. `contended`: others wrote all the time. */
export type SkillRefusal = { readonly reason: "unexpected" | "contended"; readonly current: Skill | null };

/** `lastVersion`: the last number that the key has used; 0 when it never had a skill. */
export type SkillDeletion = { readonly deleted: boolean; readonly lastVersion: number };

/** Each one that is lost is another writer's success. */
const MAX_ATTEMPTS = 20;
const BACKOFF_MS = 20;
/** What R2 deletes in one call. */
const MAX_DELETIONS = 1_000;

const ABSENT = new Headers({ "If-None-Match": "*" });
const DOCUMENT_TYPE = { contentType: "text/markdown; charset=utf-8" };
/** A byte order mark belongs to the document. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type Found = { readonly etag: string; readonly standing: Standing | null };
type Measured = Pick<Skill, "bytes" | "token_estimate" | "sha256">;

const skillOf = (found: Found | null): Skill | null => (found?.standing?.kind === "live" ? found.standing.skill : null);

function meets(current: Skill | null, expected: ExpectedSkill | undefined): boolean {
  if (expected === undefined) return true;
  if (expected === "none") return current === null;
  return current !== null && (expected === "any" || expected === current.version);
}

const measure = async (content: string): Promise<Measured> => ({
  bytes: new TextEncoder().encode(content).byteLength,
  token_estimate: estimateText(content),
  sha256: await sha256(content),
});

const backOff = (attempt: number): Promise<void> => scheduler.wait(BACKOFF_MS * attempt * Math.random());

export class SkillBucket {
  readonly #bucket: R2Bucket;
  readonly #tenantId: TenantId;

  constructor(bucket: R2Bucket, tenantId: TenantId) {
    this.#bucket = bucket;
    this.#tenantId = tenantId;
  }

  /** Every skill whose key begins with the prefix, in the order of their keys. */
  async list(prefix: string): Promise<Skill[]> {
    const folder = currentPrefix(this.#tenantId);
    const skills: Skill[] = [];
    for await (const { key, customMetadata } of this.#objects({ prefix: folder + prefix })) {
      const standing = standingOf(key.slice(folder.length), customMetadata);
      if (standing?.kind === "live") skills.push(standing.skill);
    }
    return skills;
  }

  async find(key: string): Promise<Skill | null> {
    return skillOf(await this.#head(key));
  }

  async read(key: string): Promise<SkillDocument | null> {
    const skill = await this.find(key);
    return skill === null ? null : this.#document(key, skill.version);
  }

  /**
   * The document of one version. Null when the skill has no such version, or was deleted since; with `digest`,
   * null too when that version's document is another one.
   */
  async readVersion(key: string, version: number, digest?: string): Promise<SkillDocument | null> {
    const standing = (await this.#head(key))?.standing;
    // Past the current one is the document of a writer that has not won, or never will.
    if (standing?.kind !== "live" || version < standing.firstVersion || version > standing.skill.version) return null;
    const document = await this.#document(key, version);
    return document === null || (digest !== undefined && document.sha256 !== digest) ? null : document;
  }

  /** At most `limit` versions below `before`, newest first; null when there is no such skill. */
  async versions(key: string, { limit, before }: { limit: number; before?: number | undefined }): Promise<Skill[] | null> {
    const standing = (await this.#head(key))?.standing;
    if (standing?.kind !== "live") return null;
    const found: Skill[] = [];
    let end = Math.min(before ?? Infinity, standing.skill.version + 1);
    // R2 lists upwards alone. Numbers have few gaps, so that one stretch is nearly always the page.
    while (found.length < limit && end > standing.firstVersion) {
      const start = Math.max(standing.firstVersion, end - limit);
      found.push(...(await this.#versionsBetween(key, start, end)).toReversed());
      end = start;
    }
    return found.slice(0, limit);
  }

  /** A new version, or none when the skill is this already. */
  async put(key: string, draft: SkillDraft, expected?: ExpectedSkill): Promise<Result<SkillWrite, SkillRefusal>> {
    const measured = await measure(draft.content);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const before = await this.#head(key);
      const current = skillOf(before);
      if (!meets(current, expected)) return err({ reason: "unexpected", current });
      const description = draft.description === undefined ? (current?.description ?? null) : draft.description;
      if (current !== null && current.sha256 === measured.sha256 && current.description === description)
        return ok({ skill: current, created: false, changed: false });
      const skill = await this.#write(key, before, draft.content, { ...measured, description });
      if (skill !== null) return ok({ skill, created: current === null, changed: true });
      await backOff(attempt);
    }
    return err({ reason: "contended", current: await this.find(key) });
  }

  /** Takes the skill and all of its documents away. Repeated after a death, it takes away what is left. */
  async delete(key: string, expected?: number): Promise<Result<SkillDeletion, SkillRefusal>> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const before = await this.#head(key);
      if (before === null) return ok({ deleted: false, lastVersion: 0 });
      const current = skillOf(before);
      if (current !== null && !meets(current, expected)) return err({ reason: "unexpected", current });
      const documents = await this.#documentKeys(key);
      const used = documents.map((one) => Number(lastSegment(one)));
      const version = current === null ? lastVersion(before.standing) : Math.max(current.version, ...used);
      if (current === null || (await this.#move(key, before, { kind: "deleted", version }))) {
        // Later numbers are those of a skill that is being made anew.
        await this.#remove(documents.filter((_, index) => (used[index] ?? 0) <= version));
        return ok({ deleted: current !== null, lastVersion: version });
      }
      await backOff(attempt);
    }
    return err({ reason: "contended", current: await this.find(key) });
  }

  /** One attempt: null when another writer was faster. */
  async #write(
    key: string,
    before: Found | null,
    content: string,
    described: Measured & Pick<Skill, "description">,
  ): Promise<Skill | null> {
    const standing = before?.standing ?? null;
    const live = standing?.kind === "live" ? standing : null;
    const now = formatInstant(Date.now());
    const at = (version: number) => ({
      kind: "live" as const,
      firstVersion: live?.firstVersion ?? version,
      skill: { key, version, ...described, created_at: live?.skill.created_at ?? now, updated_at: now },
    });
    const next = lastVersion(standing) + 1;
    let version = next;
    while (!(await this.#claim(at(version), content))) version += 1;
    if (await this.#move(key, before, at(version))) {
      // Writers of the numbers between have lost, whether they know it or died.
      await this.#remove(Array.from({ length: version - next }, (_, skip) => this.#versionKey(key, next + skip)));
      return at(version).skill;
    }
    await this.#remove([this.#versionKey(key, version)]);
    return null;
  }

  /** Whether the number was free. */
  async #claim(standing: Standing & { kind: "live" }, content: string): Promise<boolean> {
    const { key, version, sha256 } = standing.skill;
    const customMetadata = metadataOf(standing);
    const options = { onlyIf: ABSENT, sha256, customMetadata, httpMetadata: DOCUMENT_TYPE };
    return (await this.#bucket.put(this.#versionKey(key, version), content, options)) !== null;
  }

  /** Whether the skill still stood where it was read. */
  async #move(key: string, before: Found | null, to: Standing): Promise<boolean> {
    const onlyIf = before === null ? ABSENT : { etagMatches: before.etag };
    const options = { onlyIf, customMetadata: metadataOf(to) };
    return (await this.#bucket.put(currentKey(this.#tenantId, key), bodyOf(to), options)) !== null;
  }

  async #head(key: string): Promise<Found | null> {
    if (!skillKeySchema.safeParse(key).success) return null;
    const object = await this.#bucket.head(currentKey(this.#tenantId, key));
    return object === null ? null : { etag: object.etag, standing: standingOf(key, object.customMetadata) };
  }

  async #document(key: string, version: number): Promise<SkillDocument | null> {
    const object = await this.#bucket.get(this.#versionKey(key, version));
    if (object === null) return null;
    const standing = standingOf(key, object.customMetadata);
    const content = decoder.decode(await object.arrayBuffer());
    return standing?.kind === "live" ? { ...standing.skill, content } : null;
  }

  /** From `start` on, below `end`. */
  async #versionsBetween(key: string, start: number, end: number): Promise<Skill[]> {
    const skills: Skill[] = [];
    const options = { prefix: versionsPrefix(this.#tenantId, key), startAfter: this.#versionKey(key, start - 1) };
    for await (const object of this.#objects({ ...options, limit: end - start })) {
      const standing = standingOf(key, object.customMetadata);
      if (standing?.kind !== "live") continue;
      if (standing.skill.version >= end) break;
      skills.push(standing.skill);
    }
    return skills;
  }

  async #documentKeys(key: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const object of this.#objects({ prefix: versionsPrefix(this.#tenantId, key) })) keys.push(object.key);
    return keys;
  }

  /** All pages. */
  async *#objects(options: { prefix: string; startAfter?: string; limit?: number }): AsyncGenerator<R2Object> {
    let cursor: string | undefined;
    do {
      const place = cursor === undefined ? options : { prefix: options.prefix, cursor };
      const page = await this.#bucket.list({ ...place, include: ["customMetadata"] });
      yield* page.objects;
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
  }

  async #remove(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += MAX_DELETIONS)
      await this.#bucket.delete(keys.slice(from, from + MAX_DELETIONS));
  }

  #versionKey(key: string, version: number): string {
    return versionKey(this.#tenantId, key, version);
  }
}
