import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { newId } from "@sessionplane/shared/ids";
import type { Result } from "@sessionplane/shared/result";
import { type ExpectedSkill, SkillBucket, type SkillDraft } from "./skill-bucket.ts";
import { currentKey, versionKey } from "./skill-objects.ts";

const bucket = env.CONTENT;

/** A tenant that no other test has. */
function newRegistry() {
  const tenantId = newId("tenant");
  const skills = new SkillBucket(bucket, tenantId);
  const put = async (key: string, draft: SkillDraft, expected?: ExpectedSkill) => valueOf(await skills.put(key, draft, expected));
  return { tenantId, skills, put };
}

function valueOf<T, E>(result: Result<T, E>): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
}

const refusalOf = <T, E>(result: Result<T, E>): E | null => (result.ok ? null : result.error);

async function keysUnder(prefix: string): Promise<string[]> {
  return (await bucket.list({ prefix })).objects.map(({ key }) => key);
}

type Options = Parameters<R2Bucket["put"]>[2];

/** The bucket, on which a put may first be made to do something else. */
function bucketThat(meddle: (key: string, options: Options) => Promise<void> | void): R2Bucket {
  return new Proxy(bucket, {
    get(target, name) {
      if (name === "put")
        return async (key: string, value: string, options: Options) => {
          await meddle(key, options);
          return target.put(key, value, options);
        };
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

class Died extends Error {}

describe("a skill", () => {
  test("is read as it was written, with what describes it", async () => {
    const { skills, put } = newRegistry();
    const { skill, created, changed } = await put("greet", { content: "# Greet\n\nSay hello.", description: "How to greet" });
    expect([created, changed]).toEqual([true, true]);
    expect(skill).toMatchObject({ key: "greet", version: 1, description: "How to greet", bytes: 19 });
    expect(skill.token_estimate).toBeGreaterThan(0);
    expect(skill.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await skills.find("greet")).toEqual(skill);
    expect(await skills.read("greet")).toEqual({ ...skill, content: "# Greet\n\nSay hello." });
  });

  test.each([
    ["Chinese", "处理退款请求，先核对订单号"],
    ["emoji", "🙂👩‍👩‍👧 greet 🇪🇺"],
    ["what R2's headers and our encoding could mistake", "50 % off: a=b;c, \"d\" 'e' %E2%82 \\"],
    ["400 emoji", "🙂".repeat(400)],
  ])("keeps a description of %s", async (_name, description) => {
    const { skills, put } = newRegistry();
    await put("k", { content: "x", description });
    expect((await skills.find("k"))?.description).toBe(description);
    expect((await skills.list(""))[0]?.description).toBe(description);
    expect((await skills.readVersion("k", 1))?.description).toBe(description);
  });

  test.each([
    ["a byte order mark", "\uFEFF# Title"],
    ["a NUL", "a\0b"],
    ["a mebibyte of emoji", "🙂".repeat(256 * 1024)],
    ["Windows' line ends", "a\r\nb\r\n"],
  ])("keeps a document with %s", async (_name, content) => {
    const { skills, put } = newRegistry();
    await put("k", { content });
    expect((await skills.read("k"))?.content === content).toBe(true);
  });

  test("that is written as it is stays at its version, and nothing is written", async () => {
    const { tenantId, skills, put } = newRegistry();
    const first = await put("k", { content: "a", description: "d" });
    const before = await bucket.head(currentKey(tenantId, "k"));
    for (const draft of [{ content: "a" }, { content: "a", description: "d" }])
      expect(await put("k", draft)).toEqual({ skill: first.skill, created: false, changed: false });
    expect((await bucket.head(currentKey(tenantId, "k")))?.version).toBe(before?.version);
    expect(await skills.versions("k", { limit: 10 })).toHaveLength(1);
  });

  test("keeps its description until it gets another or none", async () => {
    const { put } = newRegistry();
    const drafts = [{ description: "d" }, {}, { description: "e" }, { description: null }, {}];
    const written = [];
    for (const [index, draft] of drafts.entries()) written.push((await put("k", { content: String(index), ...draft })).skill);
    expect(written.map(({ version, description }) => [version, description])).toEqual([
      [1, "d"],
      [2, "d"],
      [3, "e"],
      [4, null],
      [5, null],
    ]);
    expect(new Set(written.map((one) => one.created_at)).size).toBe(1);
  });

  test("keeps every version, until it is deleted", async () => {
    const { tenantId, skills, put } = newRegistry();
    const { skill } = await put("k", { content: "one" });
    await put("k", { content: "two" });
    expect(await skills.readVersion("k", 1, skill.sha256)).toEqual({ ...skill, content: "one" });
    expect(await skills.readVersion("k", 1, "0".repeat(64))).toBeNull();
    expect(await skills.readVersion("k", 3)).toBeNull();
    expect(valueOf(await skills.delete("k"))).toEqual({ deleted: true, lastVersion: 2 });
    expect([await skills.find("k"), await skills.read("k"), await skills.versions("k", { limit: 1 })]).toEqual([
      null,
      null,
      null,
    ]);
    expect(await skills.readVersion("k", 1)).toBeNull();
    expect(await skills.list("")).toEqual([]);
    expect(await keysUnder(`${tenantId}/skills/versions/`)).toEqual([]);
    expect(valueOf(await skills.delete("k"))).toEqual({ deleted: false, lastVersion: 2 });
  });

  test("that is made anew goes on counting, and shows nothing of the one before", async () => {
    const { skills, put } = newRegistry();
    await put("k", { content: "old", description: "d" });
    valueOf(await skills.delete("k"));
    expect(refusalOf(await skills.put("k", { content: "new" }, "any"))).toEqual({ reason: "unexpected", current: null });
    const { skill, created } = await put("k", { content: "new" }, "none");
    expect([skill.version, skill.description, created]).toEqual([2, null, true]);
    expect(await skills.versions("k", { limit: 10 })).toEqual([skill]);
    expect(await skills.readVersion("k", 1)).toBeNull();
  });

  test("is written and deleted only as it is expected to be", async () => {
    const { skills, put } = newRegistry();
    const write = (expected: ExpectedSkill) => skills.put("k", { content: String(expected) }, expected);
    expect(refusalOf(await write("any"))?.reason).toBe("unexpected");
    expect(refusalOf(await write(1))?.reason).toBe("unexpected");
    const { skill } = await put("k", { content: "one" }, "none");
    expect(refusalOf(await write("none"))).toEqual({ reason: "unexpected", current: skill });
    expect(refusalOf(await write(2))?.reason).toBe("unexpected");
    expect(valueOf(await write(1)).skill.version).toBe(2);
    expect(refusalOf(await skills.delete("k", 1))?.reason).toBe("unexpected");
    expect(valueOf(await skills.delete("k", 2)).deleted).toBe(true);
  });

  test("is not found under a text that is no key", async () => {
    const { skills, put } = newRegistry();
    await put("k", { content: "x" });
    for (const key of ["", "../k", "k/", "K", "k/0000000001", "x".repeat(2_000), "\ud800"]) {
      expect([await skills.find(key), await skills.read(key), await skills.readVersion(key, 1)]).toEqual([null, null, null]);
    }
  });

  test("is its tenant's alone", async () => {
    const [one, two] = [newRegistry(), newRegistry()];
    await one.put("k", { content: "of one" });
    expect([await two.skills.find("k"), await two.skills.list(""), await two.skills.readVersion("k", 1)]).toEqual([
      null,
      [],
      null,
    ]);
    valueOf(await two.skills.delete("k"));
    expect((await one.skills.read("k"))?.content).toBe("of one");
  });
});

describe("writers at once", () => {
  test("get a version each, the last of which is current", async () => {
    const { tenantId, skills, put } = newRegistry();
    const drafts = Array.from({ length: 10 }, (_, index) => ({ content: `content ${index}` }));
    const written = (await Promise.all(drafts.map((draft) => put("k", draft)))).map(({ skill }) => skill);
    const versions = written.map(({ version }) => version).toSorted((a, b) => a - b);
    expect(new Set(versions).size).toBe(10);
    const newest = written.find(({ version }) => version === versions.at(-1));
    expect(await skills.find("k")).toEqual(newest);
    expect((await skills.versions("k", { limit: 100 }))?.map(({ version }) => version)).toEqual(versions.toReversed());
    expect(await keysUnder(`${tenantId}/skills/versions/`)).toHaveLength(10);
  });

  test("that change the description alone do not overwrite one another", async () => {
    const { skills, put } = newRegistry();
    await put("k", { content: "same" });
    const drafts = Array.from({ length: 8 }, (_, index) => ({ content: "same", description: `d${index}` }));
    const results = await Promise.all(drafts.map((draft) => skills.put("k", draft, 1)));
    const winners = results.flatMap((result) => (result.ok ? [result.value.skill] : []));
    expect(winners).toHaveLength(1);
    expect(await skills.find("k")).toEqual(winners[0]);
    expect(await skills.versions("k", { limit: 10 })).toHaveLength(2);
  });

  test("that make a new skill and expect none are one who does and others who are refused", async () => {
    const { skills } = newRegistry();
    const results = await Promise.all(["a", "b", "c"].map((content) => skills.put("k", { content }, "none")));
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect((await skills.find("k"))?.version).toBeLessThanOrEqual(3);
  });

  test("and deleters at once leave all of a skill or nothing of it", async () => {
    for (let round = 0; round < 5; round++) {
      const { tenantId, skills, put } = newRegistry();
      await put("k", { content: "first" });
      const work = Array.from({ length: 6 }, (_, index) =>
        index % 2 === 0 ? skills.put("k", { content: `content ${index}` }) : skills.delete("k"),
      );
      for (const result of await Promise.all(work)) valueOf<unknown, unknown>(result);
      const skill = await skills.find("k");
      const versions = (await skills.versions("k", { limit: 100 })) ?? [];
      expect(versions[0] ?? null).toEqual(skill);
      for (const { version } of versions) expect(await skills.readVersion("k", version)).not.toBeNull();
      expect(await keysUnder(`${tenantId}/skills/versions/`)).toHaveLength(versions.length);
    }
  });
});

describe("a writer that dies between its two steps", () => {
  /** Leaves the document of the next version, and no standing that names it. */
  async function dieWriting(registry: ReturnType<typeof newRegistry>, content: string): Promise<void> {
    const current = currentKey(registry.tenantId, "k");
    const dying = bucketThat((key) => {
      if (key === current) throw new Died();
    });
    await expect(new SkillBucket(dying, registry.tenantId).put("k", { content })).rejects.toThrow(Died);
  }

  test("leaves a number that the next one skips, and takes away", async () => {
    const registry = newRegistry();
    const { tenantId, skills, put } = registry;
    await put("k", { content: "one" });
    await dieWriting(registry, "lost");
    expect([(await skills.read("k"))?.content, await skills.readVersion("k", 2)]).toEqual(["one", null]);
    expect((await skills.versions("k", { limit: 10 }))?.map(({ version }) => version)).toEqual([1]);
    const { skill } = await put("k", { content: "two" });
    expect(skill.version).toBe(3);
    expect(await skills.readVersion("k", 2)).toBeNull();
    expect((await skills.versions("k", { limit: 10 }))?.map(({ version }) => version)).toEqual([3, 1]);
    expect(await keysUnder(`${tenantId}/skills/versions/`)).toHaveLength(2);
  });

  test("does not block a skill that never was", async () => {
    const registry = newRegistry();
    await dieWriting(registry, "lost");
    expect(await registry.skills.find("k")).toBeNull();
    expect((await registry.put("k", { content: "one" }, "none")).skill.version).toBe(2);
  });

  test("leaves nothing behind when the skill is deleted", async () => {
    const registry = newRegistry();
    await registry.put("k", { content: "one" });
    await dieWriting(registry, "lost");
    expect(valueOf(await registry.skills.delete("k")).lastVersion).toBe(2);
    expect(await keysUnder(`${registry.tenantId}/skills/versions/`)).toEqual([]);
    expect((await registry.put("k", { content: "two" })).skill.version).toBe(3);
  });

  test("had it only been slow, finds that it has lost and starts again", async () => {
    const { tenantId, skills, put } = newRegistry();
    await put("k", { content: "one" });
    let isFirst = true;
    const overtaken = bucketThat(async (key) => {
      if (key !== currentKey(tenantId, "k") || !isFirst) return;
      isFirst = false;
      await put("k", { content: "faster" });
    });
    const { skill } = valueOf(await new SkillBucket(overtaken, tenantId).put("k", { content: "slower" }));
    expect((await skills.read("k"))?.content).toBe("slower");
    expect((await skills.versions("k", { limit: 10 }))?.map(({ version }) => version)).toEqual([skill.version, 3, 1]);
  });

  test("in the middle of a deletion leaves the rest to whoever deletes again", async () => {
    const { tenantId, skills, put } = newRegistry();
    await put("k", { content: "one" });
    valueOf(await skills.delete("k"));
    await bucket.put(versionKey(tenantId, "k", 1), "what was left");
    expect(valueOf(await skills.delete("k"))).toEqual({ deleted: false, lastVersion: 1 });
    expect(await keysUnder(`${tenantId}/skills/versions/`)).toEqual([]);
  });
});

describe("a list", () => {
  test("of 2,500 skills is whole, in the order of keys, by prefix, and without what is no skill", async () => {
    const { tenantId, skills } = newRegistry();
    const keys = Array.from({ length: 2_500 }, (_, index) => `${index % 2 === 0 ? "even" : "odd"}-${index}`);
    for (let from = 0; from < keys.length; from += 100) {
      const batch = keys.slice(from, from + 100);
      await Promise.all(batch.map((key) => skills.put(key, { content: key, description: "描述".repeat(100) })));
    }
    valueOf(await skills.delete("even-0"));
    await bucket.put(currentKey(tenantId, "even-alien"), "no skill", { customMetadata: { version: "x" } });
    const listed = (await skills.list("")).map(({ key }) => key);
    expect(listed).toEqual(keys.slice(1).toSorted());
    expect(await skills.list("odd-")).toHaveLength(1_250);
    expect((await skills.list("odd-1999")).map(({ key, version }) => [key, version])).toEqual([["odd-1999", 1]]);
  });

  test("of versions is given page by page, newest first, over gaps", async () => {
    const { tenantId, skills, put } = newRegistry();
    for (let index = 1; index <= 12; index++) {
      const { skill } = await put("k", { content: String(index) });
      // A number that a dead writer took.
      if (index % 4 === 0) await bucket.put(versionKey(tenantId, "k", skill.version + 1), "");
    }
    const all = (await skills.versions("k", { limit: 100 })) ?? [];
    expect(all.map(({ version }) => version)).toEqual([14, 13, 12, 11, 9, 8, 7, 6, 4, 3, 2, 1]);
    const paged = [];
    for (let before: number | undefined; ;) {
      const page = (await skills.versions("k", { limit: 3, before })) ?? [];
      if (page.length === 0) break;
      paged.push(...page);
      before = page.at(-1)?.version;
    }
    expect(paged).toEqual(all);
  });
});
