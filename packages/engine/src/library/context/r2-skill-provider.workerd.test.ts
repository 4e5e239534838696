/** Skills in a real bucket of the local runtime. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { R2SkillProvider, Session } from "../sessions.ts";
import { newObject } from "../testing/in-object.ts";

const bucket = env.CONTENT;

const newPrefix = (): string => `${crypto.randomUUID()}/`;

async function filled(): Promise<string> {
  const prefix = newPrefix();
  await bucket.put(`${prefix}guide`, "# Guide", { customMetadata: { description: "User Guide", owner: "docs" } });
  await bucket.put(`${prefix}plain`, "# Plain");
  await bucket.put(`${prefix}folder/`, "");
  await bucket.put(prefix, "");
  await bucket.put("elsewhere", "not listed");
  return prefix;
}

test("lists keys without the prefix with their descriptions, and no folder markers", async () => {
  const prefix = await filled();
  expect(await new R2SkillProvider(bucket, { prefix }).get()).toBe("- guide: User Guide\n- plain");
  expect(await new R2SkillProvider(bucket, { prefix: newPrefix() }).get()).toBeNull();
});

test("lists every page", async () => {
  const prefix = newPrefix();
  for (let index = 0; index < 30; index++) await bucket.put(`${prefix}${index}`, "x");
  const paged = new Proxy(bucket, {
    get: (target, name) =>
      name === "list"
        ? (options: R2ListOptions) => target.list({ ...options, limit: 7 })
        : (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target),
  });
  expect((await new R2SkillProvider(paged, { prefix }).get())?.split("\n")).toHaveLength(30);
});

test("loads by key, and only what its keys allow", async () => {
  const prefix = await filled();
  const all = new R2SkillProvider(bucket, { prefix, keys: [] });
  expect([await all.load("guide"), await all.load("none")]).toEqual(["# Guide", null]);
  const some = new R2SkillProvider(bucket, { prefix, keys: ["plain"] });
  expect(await some.get()).toBe("- plain");
  expect([await some.load("guide"), await some.load("plain")]).toEqual([null, "# Plain"]);
  await some.set("beside", "# Beside");
  expect(await some.load("beside")).toBeNull();
  expect(await all.load("beside")).toBe("# Beside");
});

test("keeps a description that is not given again, and other metadata", async () => {
  const prefix = await filled();
  const provider = new R2SkillProvider(bucket, { prefix });
  await provider.set("guide", "# New");
  expect((await bucket.head(`${prefix}guide`))?.customMetadata).toEqual({ description: "User Guide", owner: "docs" });
  await provider.set("guide", "# Newer", "Another");
  expect(await provider.get()).toContain("- guide: Another");
  await provider.set("new", "# New", "Of its own");
  expect(await provider.get()).toContain("- new: Of its own");
});

test("is a block of skills", () =>
  newObject().run(async (host) => {
    const session = Session.create(host).withContext("skills", {
      provider: new R2SkillProvider(bucket, { prefix: await filled() }),
    });
    expect(await session.freezeSystemPrompt()).toContain("SKILLS [loadable]");
    const tools = await session.tools();
    expect(await tools["load_context"]?.execute({ label: "skills", key: "guide" })).toBe("# Guide");
    await tools["set_context"]?.execute({
      label: "skills",
      content: "# Notes",
      metadata: { title: "Notes", description: "Of today" },
    });
    expect(await session.refreshSystemPrompt()).toContain("- notes: Of today");
  }));
