/** What a session's context promises of its object: once a key, whole or not at all, the same after any death. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PutBlock } from "@sessionplane/shared/block";
import type { JobId } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { SkillBucket } from "@sessionplane/engine/context/skill-bucket";
import { RULES, type TestSession, append, conversation, message, opened, valueOf } from "../testing/session.ts";

let keys = 0;
const once = () => ({ key: `key-${(keys += 1)}`, fingerprint: "f" });

const put = async (session: TestSession, label: string, block: PutBlock) =>
  valueOf(await session.rpc().putBlock({ label, block, idempotency: once() }));
const run = async (session: TestSession, name: string, args: object, idempotency = once()) =>
  valueOf(await session.rpc().runTool({ name, arguments: args, idempotency })).value;
const contentOf = async (session: TestSession, label: string) => valueOf(await session.rpc().getBlock({ label })).content;
const history = async (session: TestSession, view: "history" | "raw" = "history") =>
  valueOf(await session.rpc().readHistory({ view, order: "asc", limit: 1_000 })).items;
const tokensOf = async (session: TestSession) => valueOf(await session.rpc().describe(RULES)).token_estimate;

const document = (key: string): string => `All about ${key}. `.repeat(100);

/** A session with a block of the tenant's skills `a` and `b`. */
async function withSkills(): Promise<TestSession> {
  const session = await opened();
  const skills = new SkillBucket(env.CONTENT, session.tenantId);
  for (const key of ["a", "b"]) await skills.put(key, { content: document(key) });
  await put(session, "skills", { kind: "skills" });
  return session;
}

let calls = 0;
/** The message of a turn that loaded a skill. */
const loading = (id: string, key: string, output: string): Message => ({
  id,
  role: "assistant",
  parts: [
    { type: "text", text: "I look it up." },
    {
      type: "tool-load_context",
      toolCallId: `call-${(calls += 1)}`,
      state: "output-available",
      input: { label: "skills", key },
      output,
    },
  ],
});

describe("a write of a model", () => {
  test("whose object died before the answer stands once when the call is repeated", async () => {
    const session = await opened();
    await put(session, "memory", { kind: "writable" });
    const [args, key] = [{ label: "memory", content: "once", action: "append" }, once()];
    await session.rpc().armFault("append:written");
    await expect(run(session, "set_context", args, key)).rejects.toThrow("append:written");
    expect(await run(session, "set_context", args, key)).toEqual({
      output: "Written to memory. Usage: 2 tokens",
      is_error: false,
    });
    expect(await contentOf(session, "memory")).toBe("once");
  });

  test("is there after an eviction, and the prompt is the one that was frozen before", async () => {
    const session = await opened();
    await put(session, "memory", { kind: "writable", content: "before" });
    const frozen = valueOf(await session.rpc().readPrompt());
    await run(session, "set_context", { label: "memory", content: "after" });
    await evictDurableObject(session.stub);
    expect(valueOf(await session.rpc().readPrompt())).toEqual(frozen);
    expect(await contentOf(session, "memory")).toBe("after");
  });
});

describe("the prompt", () => {
  test("that many ask for at once for the first time is one", async () => {
    const session = await withSkills();
    const prompts = await Promise.all(Array.from({ length: 8 }, async () => valueOf(await session.rpc().readPrompt())));
    expect(new Set(prompts.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  test("has the skills of a block that is made while it is rendered for the first time", async () => {
    const session = await withSkills();
    const [{ prompt }] = await Promise.all([session.rpc().readPrompt().then(valueOf), put(session, "more", { kind: "skills" })]);
    expect(prompt.match(/^- b$/gm)).toHaveLength(prompt.includes("MORE [") ? 2 : 1);
  });

  test("is rendered anew after a compaction, and not before", async () => {
    const session = await opened();
    await put(session, "memory", { kind: "writable", content: "before" });
    const rules: TenantRules = {
      ...RULES,
      compaction: { threshold: 300, keep_recent_tokens: 60, protect_head: 1, cooldown_messages: 1 },
    };
    const promptOf = async () => valueOf(await session.rpc().readPrompt()).prompt;
    const before = await promptOf();
    const { compaction_job_id: id } = await append(session, conversation(20, 20), { rules });
    await run(session, "set_context", { label: "memory", content: "after" });
    const { fence } = valueOf(await session.rpc().claimJob(id as JobId));
    expect(await promptOf()).toBe(before);
    const commit = { summary: "what was said", model: "m", retention: null, usage: [] };
    valueOf(await session.rpc().commitJob(id as JobId, fence, commit));
    expect(await promptOf()).toContain("after");
  });
});

describe("an unloaded skill", () => {
  test("that is unloaded while a compaction is under way leaves sums that add up", async () => {
    const session = await withSkills();
    const rules: TenantRules = {
      ...RULES,
      compaction: { threshold: 600, keep_recent_tokens: 40, protect_head: 1, cooldown_messages: 1 },
    };
    await run(session, "load_context", { label: "skills", key: "a" });
    await append(session, [message("first"), loading("early", "a", document("a"))]);
    const { compaction_job_id: id } = await append(session, [...conversation(20, 20), loading("late", "a", document("a"))], {
      rules,
    });
    const { fence } = valueOf(await session.rpc().claimJob(id as JobId));
    await run(session, "unload_context", { label: "skills", key: "a" });
    valueOf(await session.rpc().commitJob(id as JobId, fence, { summary: "s", model: "m", retention: null, usage: [] }));
    const sum = async () => (await history(session)).reduce((total, { meta }) => total + meta.token_estimate, 0);
    expect(await sum()).toBe(await tokensOf(session));
    await evictDurableObject(session.stub);
    expect(await sum()).toBe(await tokensOf(session));
  });

  test("is not read by the summariser, and what it weighed triggers nothing", async () => {
    const session = await withSkills();
    const rules: TenantRules = {
      ...RULES,
      compaction: { threshold: 600, keep_recent_tokens: 40, protect_head: 1, cooldown_messages: 1 },
    };
    await run(session, "load_context", { label: "skills", key: "a" });
    await append(session, [message("m0"), loading("m1", "a", document("a"))]);
    await run(session, "unload_context", { label: "skills", key: "a" });
    const calm = await append(session, conversation(20, 20, "c"), { rules });
    expect(calm.compaction_job_id).toBeNull();
    const { compaction_job_id: id } = await append(session, conversation(20, 20, "d"), { rules });
    const { fence } = valueOf(await session.rpc().claimJob(id as JobId));
    const { items } = valueOf(await session.rpc().readJobRange(id as JobId, fence, 0));
    const read = JSON.stringify(items);
    expect(read).toContain("[skill unloaded: a]");
    expect(read).not.toContain("All about a.");
  });
});

type Step =
  | { readonly kind: "load"; readonly key: string }
  | { readonly kind: "unload"; readonly key: string }
  | { readonly kind: "append"; readonly key: string | null }
  | { readonly kind: "edit"; readonly at: number }
  | { readonly kind: "delete"; readonly at: number }
  | { readonly kind: "branch"; readonly at: number }
  | { readonly kind: "evict" };

const keyArb = fc.constantFrom("a", "b");
const stepArb: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("load" as const), key: keyArb }),
  fc.record({ kind: fc.constant("unload" as const), key: keyArb }),
  fc.record({ kind: fc.constant("append" as const), key: fc.option(keyArb) }),
  fc.record({ kind: fc.constant("edit" as const), at: fc.nat(20) }),
  fc.record({ kind: fc.constant("delete" as const), at: fc.nat(20) }),
  fc.record({ kind: fc.constant("branch" as const), at: fc.nat(20) }),
  fc.record({ kind: fc.constant("evict" as const) }),
);

/** One step, and what the raw view must hold after it. */
async function take(session: TestSession, step: Step, written: Message[]): Promise<void> {
  const label = "skills";
  if (step.kind === "evict") {
    await tokensOf(session);
    return evictDurableObject(session.stub);
  }
  if (step.kind === "load" || step.kind === "unload") {
    await run(session, `${step.kind}_context`, { label, key: step.key });
    return;
  }
  if (step.kind === "append") {
    const id = `n${(calls += 1)}`;
    const one = step.key === null ? message(id) : loading(id, step.key, document(step.key));
    await append(session, [one]);
    written.push(one);
    return;
  }
  const target = written[step.at % Math.max(1, written.length)];
  if (target === undefined) return;
  if (step.kind === "branch") {
    const one = loading(`n${(calls += 1)}`, "a", document("a"));
    await append(session, [one], { parent_id: target.id });
    written.push(one);
  } else if (step.kind === "edit") {
    const parts = target.parts.map((part) => (part.type === "text" ? { ...part, text: "edited" } : part));
    const edited = { ...target, parts };
    valueOf(await session.rpc().putMessage({ message: edited, source: "server", rules: RULES }));
    written.splice(written.indexOf(target), 1, edited);
  } else {
    valueOf(await session.rpc().deleteMessages({ ids: [target.id], source: "server", rules: RULES, idempotency: once() }));
    written.splice(written.indexOf(target), 1);
  }
}

test("after any course of loads, unloads and writes the tokens add up, and what was written is still there", () =>
  fc.assert(
    fc.asyncProperty(fc.array(stepArb, { minLength: 1, maxLength: 25 }), async (steps) => {
      const session = await withSkills();
      const written: Message[] = [];
      for (const step of steps) await take(session, step, written);
      const shown = await history(session);
      expect(shown.reduce((sum, { meta }) => sum + meta.token_estimate, 0)).toBe(await tokensOf(session));
      const loaded = valueOf(await session.rpc().listLoadedSkills()).map(({ key }) => key);
      const text = shown.map(({ json }) => json).join("\n");
      for (const key of ["a", "b"]) if (!loaded.includes(key)) expect(text).not.toContain(`All about ${key}.`);
      for (const one of written) {
        const { json } = valueOf(await session.rpc().getMessage({ id: one.id }));
        expect(JSON.parse(json)).toEqual(one);
      }
    }),
    { numRuns: 40 },
  ));
