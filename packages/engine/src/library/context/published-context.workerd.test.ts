/**
 * Context, prompt, tools and skills as the documents of the published API show them: the same calls in the same
 * order, with this library's import and constructor. Whatever one of them needs must go on compiling and running.
 */
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import {
  AgentContextProvider,
  AgentSearchProvider,
  AgentSessionProvider,
  type ContextProvider,
  R2SkillProvider,
  type SearchProvider,
  Session,
  SessionManager,
  type SkillProvider,
  type WritableContextProvider,
  createCompactFunction,
} from "../sessions.ts";
import { newObject, text } from "../testing/in-object.ts";

const myModel = "a model";
const generateText = async ({ prompt }: { model: string; prompt: string }) => ({ text: `of ${prompt.length} characters` });
const myTools = { clock: { execute: async () => "noon" } };

test("the quick start", async () => {
  const object = newObject();
  const say = (id: string) =>
    object.run(async (host) => {
      const session = Session.create(host)
        .withContext("soul", { provider: { get: async () => "You are a helpful assistant." } })
        .withContext("memory", { description: "Learned facts about the user", maxTokens: 1100 })
        .withCachedPrompt();
      await session.appendMessage(text(id));
      const history = await session.getHistory();
      const system = await session.freezeSystemPrompt();
      const tools = await session.tools();
      const allTools = { ...tools, ...myTools };
      return { count: history.length, system, names: Object.keys(allTools) };
    });
  const first = await say("m1");
  expect(first).toMatchObject({ count: 1, names: ["set_context", "clock"] });
  await object.evict();
  expect(await say("m2")).toEqual({ ...first, count: 2 });
});

test("the direct constructor", () =>
  newObject().run(async (host) => {
    const session = new Session(new AgentSessionProvider(host), {
      context: [
        { label: "memory", description: "Notes", maxTokens: 500, provider: new AgentContextProvider(host, "memory") },
        { label: "soul", provider: { get: async () => "You are helpful." } },
      ],
    });
    await session.replaceContextBlock("memory", "a note");
    expect(await session.freezeSystemPrompt()).toMatch(/MEMORY \(Notes\)[\s\S]*a note[\s\S]*SOUL[\s\S]*You are helpful\./);
  }));

test("context that comes and goes, reads and writes of blocks, the prompt's life", () =>
  newObject().run(async (host) => {
    const session = Session.create(host).withContext("memory").withCachedPrompt();
    await session.addContext("extension-notes", { description: "From extension X", maxTokens: 500 });
    session.removeContext("extension-notes");
    await session.refreshSystemPrompt();
    await session.replaceContextBlock("memory", "User likes coffee.");
    await session.appendContextBlock("memory", "\nUser prefers dark roast.");
    const block = session.getContextBlock("memory");
    expect(block).toEqual({
      label: "memory",
      content: "User likes coffee.\nUser prefers dark roast.",
      tokens: 11,
      writable: true,
      isSkill: false,
      isSearchable: false,
    });
    expect(session.getContextBlocks()).toEqual([block]);
    const prompt = await session.freezeSystemPrompt();
    const updated = await session.refreshSystemPrompt();
    expect([prompt.includes("coffee"), updated.includes("dark roast")]).toEqual([false, true]);
  }));

test("the providers that come with it", () =>
  newObject().run(async (host) => {
    const session = Session.create(host)
      .withContext("skills", { provider: new R2SkillProvider(env.CONTENT, { prefix: "published/" }) })
      .withContext("knowledge", { description: "Searchable knowledge base", provider: new AgentSearchProvider(host) });
    expect(Object.keys(await session.tools())).toEqual(["set_context", "load_context", "unload_context", "search_context"]);
    const results = await session.search("deployment Friday", { limit: 10 });
    expect(results).toEqual([]);
  }));

test("the providers of a caller's own", () =>
  newObject().run(async (host) => {
    const kept = new Map<string, string>([["memory", "You know nothing yet."]]);
    const fetchFromMyDB = async () => kept.get("memory") ?? null;
    const saveToMyDB = async (content: string) => void kept.set("memory", content);
    const fetchDocument = async (key: string) => kept.get(`skill ${key}`) ?? null;
    const saveDocument = async (key: string, content: string, _description?: string) => void kept.set(`skill ${key}`, content);
    const searchMyIndex = async (query: string) => kept.get(`entry ${query}`) ?? null;
    const indexContent = async (key: string, content: string) => void kept.set(`entry ${key}`, content);

    const myProvider: ContextProvider = {
      get: async () => "Static content here",
    };
    const myWritable: WritableContextProvider = {
      get: async () => fetchFromMyDB(),
      set: async (content) => saveToMyDB(content),
    };
    const mySkills: SkillProvider = {
      get: async () => "- api-ref: API Reference\n- guide: User Guide",
      load: async (key) => fetchDocument(key),
      set: async (key, content, description) => saveDocument(key, content, description),
    };
    const mySearch: SearchProvider = {
      get: async () => "42 entries indexed",
      search: async (query) => searchMyIndex(query),
      set: async (key, content) => indexContent(key, content),
    };

    const session = Session.create(host)
      .withContext("static", { provider: myProvider })
      .withContext("writable", { provider: myWritable })
      .withContext("skills", { provider: mySkills })
      .withContext("search", { provider: mySearch });
    const prompt = await session.freezeSystemPrompt();
    for (const said of ["Static content here", "You know nothing yet.", "- guide: User Guide", "42 entries indexed"])
      expect(prompt).toContain(said);
    const { set_context: set, load_context: load, search_context: search } = await session.tools();
    await set?.execute({ label: "writable", content: "You know this." });
    await set?.execute({ label: "skills", content: "# Guide", metadata: { title: "guide" } });
    await set?.execute({ label: "search", content: "found it", metadata: { title: "thing" } });
    expect(kept.get("memory")).toBe("You know this.");
    expect(await load?.execute({ label: "skills", key: "guide" })).toBe("# Guide");
    expect(await search?.execute({ label: "search", query: "thing" })).toBe("found it");
    expect(await search?.execute({ label: "search", query: "else" })).toBe("No results found.");
  }));

class DatabaseSkillProvider implements SkillProvider {
  private db: D1Database;

  constructor(db: D1Database) {
    this.db = db;
  }

  async get(): Promise<string | null> {
    const rows = await this.db.prepare("SELECT key, description FROM skills ORDER BY key").all();
    if (rows.results.length === 0) return null;
    return rows.results.map((r) => `- ${r["key"]}${r["description"] ? `: ${r["description"]}` : ""}`).join("\n");
  }

  async load(key: string): Promise<string | null> {
    const row = await this.db.prepare("SELECT content FROM skills WHERE key = ?").bind(key).first();
    return row ? (row["content"] as string) : null;
  }

  async set(key: string, content: string, description?: string): Promise<void> {
    await this.db
      .prepare(
        "INSERT INTO skills (key, content, description) VALUES (?, ?, ?) " +
          "ON CONFLICT(key) DO UPDATE SET content = ?, description = ?",
      )
      .bind(key, content, description ?? null, content, description ?? null)
      .run();
  }
}

beforeAll(async () => {
  await env.SKILLS_DB.exec("CREATE TABLE IF NOT EXISTS skills (key TEXT PRIMARY KEY, content TEXT NOT NULL, description TEXT)");
});

test("skills in D1", () =>
  newObject().run(async (host) => {
    const session = Session.create(host).withContext("skills", { provider: new DatabaseSkillProvider(env.SKILLS_DB) });
    expect(await session.freezeSystemPrompt()).toMatch(/SKILLS \[loadable\]\n═+\n$/);
    const { set_context: set, load_context: load } = await session.tools();
    const metadata = { title: "Style guide", description: "Company style guide" };
    expect(await set?.execute({ label: "skills", content: "Be brief.", metadata })).toBe('Indexed "style-guide" in skills.');
    expect(await load?.execute({ label: "skills", key: "style-guide" })).toBe("Be brief.");
    expect(await load?.execute({ label: "skills", key: "none" })).toBe("Not found: none");
    expect(await session.refreshSystemPrompt()).toContain("- style-guide: Company style guide");
  }));

test("memory, compaction and the counter of everything", () =>
  newObject().run(async (host) => {
    const estimateWithYourTokenizer = (all: object) => JSON.stringify(all).length;
    const errors: unknown[] = [];
    const session = Session.create(host)
      .withContext("memory", { maxTokens: 1100 })
      .onCompaction(
        createCompactFunction({
          summarize: (prompt) => generateText({ model: myModel, prompt }).then((r) => r.text),
          protectHead: 3,
          tailTokenBudget: 20_000,
          minTailMessages: 2,
        }),
      )
      .compactAfter(100_000, {
        tokenCounter: async ({ messages, systemPrompt, contextBlocks }) => {
          return estimateWithYourTokenizer({ messages, systemPrompt, contextBlocks });
        },
      })
      .onCompactionError((err) => void errors.push(err));
    await session.appendMessage(text("m1"));
    expect([errors, await session.compact()]).toEqual([[], null]);
  }));

test("the manager", () =>
  newObject().run(async (host) => {
    const manager = SessionManager.create(host)
      .withContext("soul", { provider: { get: async () => "You are helpful." } })
      .withContext("memory", { description: "Learned facts", maxTokens: 1100 })
      .withCachedPrompt()
      .onCompaction(
        createCompactFunction({ summarize: (prompt) => generateText({ model: myModel, prompt }).then((r) => r.text) }),
      )
      .compactAfter(100_000)
      .withSearchableHistory("history");
    const info = await manager.create("My Chat");
    await manager.append(info.id, text("m1", "The deployment is on Friday."));
    expect((await manager.search("deployment Friday", { limit: 20 })).map(({ id }) => id)).toEqual(["m1"]);
    const tools = await manager.tools();
    expect(await tools["session_search"]?.execute({ query: "deployment" })).toBe("[user] The deployment is on Friday.");
    expect(Object.keys(await manager.getSession(info.id).tools())).toEqual(["set_context", "search_context"]);
  }));
