/**
 * The tenant's skills as a session's blocks see them: those that a block's prefix and keys let through, by the
 * rest of their key. Reads R2 and writes nothing.
 */
import { skillKeySchema } from "@sessionplane/shared/skill";
import type { Skill, SkillBucket, SkillDocument } from "@sessionplane/engine/context/skill-bucket";
import type { LoadedSkill } from "@sessionplane/engine/storage/sqlite/skill-state";
import type { BlockRow } from "./block-store.ts";
import { type Listings, listing } from "./show-block.ts";

type Selection = Pick<BlockRow["settings"], "prefix" | "keys">;

const isListed = ({ keys }: Selection, key: string): boolean => keys === null || keys.includes(key);

export const listsTenantSkills = ({ kind, settings }: BlockRow): boolean => kind === "skills" && settings.owner === "tenant";

/** R2 did not answer: no fault of whoever asks. */
export class SkillsUnreachable extends Error {
  override readonly name = "SkillsUnreachable";
}

async function reaching<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new SkillsUnreachable("the skills could not be read", { cause });
  }
}

export class SkillShelf {
  readonly #skills: SkillBucket;

  constructor(skills: SkillBucket) {
    this.#skills = skills;
  }

  /** Of those blocks that list the tenant's skills. Blocks with one prefix share one look at R2. */
  async listings(blocks: readonly BlockRow[]): Promise<Listings> {
    const listings = new Map<string, string>();
    const found = new Map<string, readonly Skill[]>();
    for (const { label, settings } of blocks.filter(listsTenantSkills)) {
      const prefix = settings.prefix ?? "";
      const skills = found.get(prefix) ?? (await reaching(this.#skills.list(prefix)));
      found.set(prefix, skills);
      const shown = skills
        .map(({ key, description }) => ({ key: key.slice(prefix.length), description }))
        .filter(({ key }) => key !== "" && isListed(settings, key));
      listings.set(label, listing(shown));
    }
    return listings;
  }

  /** The version that is loaded already, or the present one; null when there is none, or none for this block. */
  async read(selection: Selection, key: string, loaded: LoadedSkill | null): Promise<SkillDocument | null> {
    const whole = skillKeySchema.safeParse(`${selection.prefix ?? ""}${key}`);
    if (key === "" || !whole.success || !isListed(selection, key)) return null;
    const pinned =
      loaded?.version == null
        ? null
        : await reaching(this.#skills.readVersion(whole.data, loaded.version, loaded.sha256 ?? undefined));
    return pinned ?? reaching(this.#skills.read(whole.data));
  }
}
