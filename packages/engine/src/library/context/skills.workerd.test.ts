/** Documents that a model loads and unloads: what counts as loaded, and what the history shows of them. */
import { describe, expect, test } from "vitest";
import { Session, type SessionMessage } from "../sessions.ts";
import { readonlyText, skills } from "../testing/context-providers.ts";
import { codeOf, newObject, text } from "../testing/in-object.ts";
import { MapProvider } from "../testing/map-provider.ts";

type Arguments = { readonly label: string; readonly key: string };

/** A reply with the call of a tool as the AI SDK stores it. */
const reply = (id: string, tool: string, input: Arguments, output: unknown, isDynamic = false): SessionMessage => ({
  id,
  role: "assistant",
  parts: [
    {
      ...(isDynamic ? { type: "dynamic-tool", toolName: tool } : { type: `tool-${tool}` }),
      toolCallId: `call-${id}`,
      state: "output-available",
      input,
      output,
    },
  ],
});

const GUIDE: Arguments = { label: "skills", key: "guide" };
const call = async (session: Session, tool: string, args: object = GUIDE): Promise<string | undefined> =>
  (await session.tools())[tool]?.execute(args);

/** Calls a tool and stores the reply, as a loop does. */
async function turn(session: Session, id: string, tool: string, args: Arguments = GUIDE): Promise<string | undefined> {
  const output = await call(session, tool, args);
  await session.appendMessage(reply(id, tool, args, output));
  return output;
}

const outputs = async (session: Session): Promise<unknown[]> =>
  (await session.getHistory()).map(({ parts }) => parts[0]?.["output"]);

const UNLOADED = "[skill unloaded: guide]";
const withSkills = (session: Session, contents: Record<string, string> = { guide: "# Guide", other: "# Other" }) =>
  session.withContext("skills", { provider: skills(contents) });

describe("a loaded document", () => {
  test("is unloaded once, hidden in every copy of the history, and can be loaded again", () =>
    newObject().run(async (host) => {
      const session = withSkills(Session.create(host));
      expect(await call(session, "unload_context")).toBe('Error: "guide" is not currently loaded from skills. Loaded: none');
      await turn(session, "a", "load_context");
      await turn(session, "b", "load_context");
      await turn(session, "c", "load_context", { label: "skills", key: "other" });
      expect(await outputs(session)).toEqual(["# Guide", "# Guide", "# Other"]);
      expect(await call(session, "unload_context")).toBe('Unloaded "guide" from skills. Context reclaimed.');
      expect(await outputs(session)).toEqual([UNLOADED, UNLOADED, "# Other"]);
      expect((await session.getMessage("a"))?.parts[0]?.["output"]).toBe("# Guide");
      expect(await call(session, "unload_context")).toBe(
        'Error: "guide" is not currently loaded from skills. Loaded: "skills:other"',
      );
      expect(await turn(session, "d", "load_context")).toBe("# Guide");
      expect(await outputs(session)).toEqual([UNLOADED, UNLOADED, "# Other", "# Guide"]);
    }));

  test("stays loaded over an eviction, and hidden after it", async () => {
    const object = newObject();
    await object.run(async (host) => void (await turn(withSkills(Session.create(host)), "a", "load_context")));
    await object.evict();
    await object.run(async (host) => {
      expect(await call(withSkills(Session.create(host)), "unload_context")).toContain("Unloaded");
    });
    await object.evict();
    await object.run(async (host) => {
      const session = withSkills(Session.create(host));
      expect(await outputs(session)).toEqual([UNLOADED]);
      expect(await call(session, "unload_context")).toContain("Loaded: none");
    });
  });

  test("that was unloaded in the turn that loaded it is hidden once the turn is stored", () =>
    newObject().run(async (host) => {
      const session = withSkills(Session.create(host));
      const loaded = await call(session, "load_context");
      await call(session, "unload_context");
      await session.appendMessage(reply("a", "load_context", GUIDE, loaded));
      expect(await outputs(session)).toEqual([UNLOADED]);
    }));

  test("is known from messages that were written elsewhere, of static and of dynamic tools", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const session = Session.create(host);
      await session.appendMessage(reply("a", "load_context", GUIDE, "# Guide"));
      await session.appendMessage(reply("b", "load_context", { label: "skills", key: "other" }, "# Other", true));
      await session.appendMessage(reply("c", "unload_context", GUIDE, "Unloaded."));
    });
    await object.evict();
    await object.run(async (host) => {
      const session = withSkills(Session.create(host));
      expect(await call(session, "unload_context")).toContain('Loaded: "skills:other"');
      expect(await call(session, "unload_context", { label: "skills", key: "other" })).toContain("Unloaded");
      expect(await outputs(session)).toEqual([UNLOADED, "[skill unloaded: other]", "Unloaded."]);
    });
  });

  test("is not one that was not found", () =>
    newObject().run(async (host) => {
      const session = withSkills(Session.create(host));
      await turn(session, "a", "load_context", { label: "skills", key: "none" });
      expect(await call(session, "unload_context", { label: "skills", key: "none" })).toContain("not currently loaded");
    }));

  test("is one no more when its block goes, when the messages are cleared, and in another session", () =>
    newObject().run(async (host) => {
      const session = withSkills(Session.create(host));
      await turn(session, "a", "load_context");
      expect(await call(withSkills(Session.create(host).forSession("b")), "unload_context")).toContain("Loaded: none");
      session.removeContext("skills");
      await session.addContext("skills", { provider: skills({ guide: "# Guide" }) });
      expect(await call(session, "unload_context")).toContain("Loaded: none");
      expect(await outputs(session)).toEqual(["# Guide"]);
      await turn(session, "b", "load_context");
      await session.clearMessages();
      expect(await call(session, "unload_context")).toContain("Loaded: none");
    }));

  test("leaves the history when it is unloaded behind a compaction too", () =>
    newObject().run(async (host) => {
      const session = withSkills(Session.create(host));
      await turn(session, "a", "load_context");
      await session.appendMessage(text("m1"));
      const { id } = await session.addCompaction("a summary", "a", "a");
      expect(await call(session, "unload_context")).toContain("Unloaded");
      expect(await call(session, "recall", { summary_id: id })).not.toContain("# Guide");
    }));

  test("is asked of its provider at each load", () =>
    newObject().run(async (host) => {
      const contents = { guide: "old" };
      const provider = { get: () => null, load: (key: string) => (key === "guide" ? contents.guide : null) };
      const session = Session.create(host).withContext("skills", { provider });
      expect(await call(session, "load_context")).toBe("old");
      contents.guide = "new";
      expect(await call(session, "load_context")).toBe("new");
    }));
});

test("tools say the same whatever is loaded", () =>
  newObject().run(async (host) => {
    const session = withSkills(Session.create(host));
    const before = JSON.stringify(Object.values(await session.tools()).map(({ description }) => description));
    await turn(session, "a", "load_context");
    expect(JSON.stringify(Object.values(await session.tools()).map(({ description }) => description))).toBe(before);
  }));

describe("in a storage of the caller's own", () => {
  class CountingProvider extends MapProvider {
    reads = 0;
    override getHistory = async (leafId?: string | null) => {
      this.reads += 1;
      return this.pathWithCompactions(leafId);
    };
  }

  async function filled(): Promise<CountingProvider> {
    const provider = new CountingProvider();
    await provider.appendMessage(reply("a", "load_context", GUIDE, "# Guide"));
    await provider.appendMessage(reply("b", "load_context", GUIDE, "# Guide", true));
    await provider.appendMessage(reply("c", "load_context", { label: "skills", key: "other" }, "# Other", true));
    return provider;
  }

  test("a block without a provider is empty and readonly, and what needs a storage names one", async () => {
    const session = new Session(new MapProvider()).withContext("memory");
    expect(session.getContextBlock("memory")).toMatchObject({ content: "", writable: false });
    expect(await session.freezeSystemPrompt()).toBe("");
    expect(await session.tools()).toEqual({});
    expect(await codeOf(session.replaceContextBlock("memory", "x"))).toBe("readonly_block");
    expect(await codeOf(session.addContext("notes"))).toBe("provider_required");
    expect(await codeOf(() => session.withCachedPrompt())).toBe("provider_required");
    await session.addContext("soul", { provider: readonlyText("helpful") });
    expect(await session.refreshSystemPrompt()).toContain("helpful");
  });

  test("what is loaded is found by one scan, and unloading rewrites every copy", async () => {
    const provider = await filled();
    const session = withSkills(new Session(provider));
    const told: string[] = [];
    let list: SessionMessage[] = await session.getHistory();
    session.mirror({ get: () => list, set: (next) => void (list = next), onApplied: ({ type }) => void told.push(type) });
    expect(await call(session, "unload_context")).toContain("Unloaded");
    expect(await outputs(session)).toEqual([UNLOADED, UNLOADED, "# Other"]);
    expect(provider.rows.get("a")?.message.parts[0]?.["output"]).toBe(UNLOADED);
    expect(told).toEqual(["update", "update"]);
    expect(await call(session, "unload_context")).toContain('Loaded: "skills:other"');
    expect(await turn(session, "d", "load_context")).toBe("# Guide");
    expect(await call(withSkills(new Session(provider)), "unload_context")).toContain("Unloaded");
    await session.clearMessages();
    expect(await call(session, "unload_context")).toContain("Loaded: none");
  });

  test("nothing is scanned without a block of skills, and one that is added later finds what is loaded", async () => {
    const provider = await filled();
    const session = new Session(provider).withContext("soul", { provider: readonlyText("x") });
    await session.tools();
    await session.freezeSystemPrompt();
    expect(provider.reads).toBe(0);
    await session.addContext("skills", { provider: skills({ guide: "# Guide" }) });
    expect(await call(session, "unload_context", { label: "skills", key: "none" })).toContain(
      'Loaded: "skills:guide", "skills:other"',
    );
    await call(session, "unload_context", { label: "skills", key: "none" });
    expect(provider.reads).toBe(1);
  });

  test("nothing is recalled: the originals can't be had", async () => {
    const session = withSkills(new Session(await filled()));
    await session.addCompaction("a summary", "a", "b");
    expect(Object.keys(await session.tools())).not.toContain("recall");
  });
});
