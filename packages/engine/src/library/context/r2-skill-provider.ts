/**
 * Documents in an R2 bucket as skills: the object's key without the prefix is the skill's, and its custom metadata
 * `description` says what is in it.
 */
import type { SkillProvider } from "../../context/providers.ts";

export type R2SkillOptions = {
  /** What the keys of the objects begin with; nothing when it is left out. */
  readonly prefix?: string | undefined;
  /** The only ones that are listed and loaded, without the prefix. None named: all. Writing is not limited by it. */
  readonly keys?: readonly string[] | undefined;
};

export class R2SkillProvider implements SkillProvider {
  readonly #bucket: R2Bucket;
  readonly #prefix: string;
  readonly #keys: ReadonlySet<string> | null;

  constructor(bucket: R2Bucket, { prefix = "", keys = [] }: R2SkillOptions = {}) {
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#keys = keys.length === 0 ? null : new Set(keys);
  }

  #isAllowed(key: string): boolean {
    return this.#keys === null || this.#keys.has(key);
  }

  async *#objects(): AsyncGenerator<R2Object> {
    for (let cursor: string | undefined, more = true; more;) {
      const page = await this.#bucket.list({
        prefix: this.#prefix,
        include: ["customMetadata"],
        ...(cursor === undefined ? {} : { cursor }),
      });
      yield* page.objects;
      more = page.truncated;
      cursor = page.truncated ? page.cursor : undefined;
    }
  }

  /** A line each: `- key: description`. Null when there are none. What only marks a folder is none. */
  async get(): Promise<string | null> {
    const lines: string[] = [];
    for await (const { key: name, customMetadata } of this.#objects()) {
      const key = name.slice(this.#prefix.length);
      if (key === "" || key.endsWith("/") || !this.#isAllowed(key)) continue;
      const description = customMetadata?.["description"];
      lines.push(description === undefined ? `- ${key}` : `- ${key}: ${description}`);
    }
    return lines.length === 0 ? null : lines.join("\n");
  }

  async load(key: string): Promise<string | null> {
    if (!this.#isAllowed(key)) return null;
    const object = await this.#bucket.get(this.#prefix + key);
    return object === null ? null : object.text();
  }

  /** Without a description the one that is there stays, as do other metadata. */
  async set(key: string, content: string, description?: string): Promise<void> {
    const name = this.#prefix + key;
    const before = await this.#bucket.head(name);
    await this.#bucket.put(name, content, {
      customMetadata: { ...before?.customMetadata, ...(description === undefined ? {} : { description }) },
      ...(before?.httpMetadata === undefined ? {} : { httpMetadata: before.httpMetadata }),
    });
  }
}
