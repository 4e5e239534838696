import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ContextBlock } from "./context-block.ts";
import { type ToolTarget, runTool } from "./run-tool.ts";
import { TOOL_NAMES } from "./tools.ts";

const block = (label: string, abilities: Partial<ContextBlock> = {}): ContextBlock => ({
  ...{ label, content: "", tokens: 0, writable: false, isSkill: false, isSearchable: false },
  ...abilities,
});

/** A session's context in a few maps, and the log of what was done to it. */
function fakeTarget() {
  const log: string[] = [];
  const note = (...what: unknown[]) => log.push(JSON.stringify(what));
  const target: ToolTarget = {
    blocks: () => [
      block("memory", { writable: true, maxTokens: 100 }),
      block("free", { writable: true }),
      block("soul"),
      block("skills", { isSkill: true }),
      block("notes", { isSearchable: true, writable: true }),
    ],
    write: (label, content, action) => {
      note("write", label, content, action);
      if (content.length > 10) return { ok: false, because: "too long" };
      return { ok: true, value: label === "memory" ? { tokens: 45, maxTokens: 100 } : { tokens: 45 } };
    },
    writeEntry: (...what) => {
      note("writeEntry", ...what);
      return { ok: true, value: null };
    },
    load: (_, key) => ({ ok: true, value: key === "guide" ? "the guide" : null }),
    unload: (_, key) => key === "guide",
    loaded: () => ["skills:guide"],
    search: (_, query) => (query === "coffee" ? "[one] coffee" : null),
    searchSessions: (query) => (query === "coffee" ? "[user] coffee" : null),
    recall: ({ summaryId }) =>
      summaryId === "x" ? { ok: false, because: "no such summary" } : { ok: true, value: "the originals" },
  };
  return { target, log };
}

const answer = async (name: (typeof TOOL_NAMES)[number], args: unknown) => runTool(fakeTarget().target, name, args);

test.each([
  ["half of a surrogate pair", '{"label":"free","content":"\\ud800"}'],
  ["a key that would be lost", '{"label":"free","content":"x","metadata":{"__proto__":{}}}'],
  ["nesting that no stack holds", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
])("arguments as JSON in a string are refused with %s, as a body is", async (_, sent) => {
  const { target, log } = fakeTarget();
  expect((await runTool(target, "set_context", sent)).isError).toBe(true);
  expect(log).toEqual([]);
});

describe("a call", () => {
  test.each([
    ["set_context", { label: "memory", content: "x" }, "Written to memory. Usage: 45% (45/100 tokens)"],
    ["set_context", { label: "free", content: "x", action: null }, "Written to free. Usage: 45 tokens"],
    ["set_context", { label: "notes", content: "x", metadata: { title: "A Note" } }, 'Indexed "a-note" in notes.'],
    ["load_context", { label: "skills", key: "guide" }, "the guide"],
    ["unload_context", { label: "skills", key: "guide" }, 'Unloaded "guide" from skills. Context reclaimed.'],
    ["search_context", { label: "notes", query: "coffee" }, "[one] coffee"],
    ["search_context", { label: "notes", query: "tea" }, "No results found."],
    ["session_search", { query: "coffee" }, "[user] coffee"],
    ["session_search", { query: "tea" }, "No results found."],
    ["recall", { query: "coffee" }, "the originals"],
    ["session_search", '{"query":"coffee"}', "[user] coffee"],
  ] as const)("of %s with %j is answered", async (name, args, output) => {
    expect(await answer(name, args)).toEqual({ output, isError: false });
  });

  test.each([
    ["set_context", { label: "none", content: "x" }, 'Error: block "none" not found'],
    ["set_context", { label: "soul", content: "x" }, 'Error: block "soul" is readonly'],
    ["set_context", { label: "memory", content: "far too long" }, "Error: too long"],
    ["set_context", { label: "memory" }, /^Error: the arguments do not fit: content: /],
    ["load_context", { label: "memory", key: "x" }, 'Error: "memory" is not a loadable block. These are: "skills"'],
    ["load_context", { label: "skills", key: "none" }, "Not found: none"],
    ["unload_context", { label: "skills", key: "none" }, /not currently loaded from skills\. Loaded: "skills:guide"/],
    ["search_context", { label: "soul", query: "x" }, 'Error: "soul" is not a searchable block. These are: "notes"'],
    ["recall", {}, "Error: give summary_id or query"],
    ["recall", { summary_id: "x" }, "Error: no such summary"],
  ] as const)("of %s with %j is told why not", async (name, args, output) => {
    const { output: said, isError } = await answer(name, args);
    expect(isError).toBe(true);
    if (typeof output === "string") expect(said).toBe(output);
    else expect(said).toMatch(output);
  });

  test("writes once, and what it says", async () => {
    const { target, log } = fakeTarget();
    await runTool(target, "set_context", { label: "memory", content: "x", action: "append" });
    await runTool(target, "set_context", { label: "notes", content: "x", metadata: { title: "T", description: "d" } });
    expect(log).toEqual(['["write","memory","x","append"]', '["writeEntry","notes","t","x","d"]']);
  });

  test("with anything at all is answered, never thrown", () =>
    fc.assert(
      fc.asyncProperty(fc.constantFrom(...TOOL_NAMES), fc.anything(), async (name, args) => {
        expect(typeof (await answer(name, args)).output).toBe("string");
      }),
    ));
});
