import { describe, expect, test } from "vitest";
import { type Conversation, batches, fromChat, parseConversation, parseConversations } from "./conversation.ts";
import { pathTokens } from "./path-tokens.ts";
import { SETTINGS } from "./run.ts";
import { demoConversations } from "./stories.ts";

const call = (id: string, name: string, args: string) => ({ id, function: { name, arguments: args } });
const text = (value: string) => ({ type: "text", text: value });

describe("fromChat", () => {
  test("puts a tool's result into the part of its call", () => {
    const messages = fromChat("c", [
      { role: "user", content: "weather?" },
      { role: "assistant", content: null, tool_calls: [call("1", "weather", '{"city":"Brno"}')] },
      { role: "tool", content: '{"degrees":4}', tool_call_id: "1" },
      { role: "assistant", content: "4 degrees" },
    ]);

    expect(messages.map((message) => message.role)).toEqual(["user", "assistant", "assistant"]);
    expect(messages[1]?.parts).toEqual([
      {
        type: "dynamic-tool",
        toolName: "weather",
        toolCallId: "1",
        state: "output-available",
        input: { city: "Brno" },
        output: { degrees: 4 },
      },
    ]);
  });

  test("keeps arguments and results that are not JSON as text", () => {
    const [message] = fromChat("c", [
      { role: "assistant", content: "", tool_calls: [call("1", "run", "ls -l")] },
      { role: "tool", content: "a b", tool_call_id: "1" },
    ]);
    expect(message?.parts[0]).toMatchObject({ input: "ls -l", output: "a b" });
  });
});

describe("parseConversation", () => {
  const tree = {
    message_tree_id: "t",
    prompt: {
      message_id: "p",
      text: "q",
      role: "prompter",
      replies: [
        { message_id: "a", text: "1", role: "assistant" },
        { message_id: "b", text: "2", role: "assistant" },
      ],
    },
  };

  test("walks a tree from its prompt, each reply below its own parent", () => {
    const { appends } = parseConversation(JSON.stringify(tree));
    expect(appends).toEqual([
      { message: { id: "p", role: "user", parts: [text("q")] }, parentId: null },
      { message: { id: "a", role: "assistant", parts: [text("1")] }, parentId: "p" },
      { message: { id: "b", role: "assistant", parts: [text("2")] }, parentId: "p" },
    ]);
  });

  test("chains what chains and starts a new batch where a branch begins", () => {
    expect(
      [...batches(parseConversation(JSON.stringify(tree)), 10)].map((batch) => [
        batch.parentId,
        batch.messages.map((one) => one.id),
      ]),
    ).toEqual([
      [null, ["p", "a"]],
      ["p", ["b"]],
    ]);
  });

  test("says which shapes it takes when it gets another", () => {
    expect(() => parseConversations('{"hello":1}\n')).toThrow(/neither/);
  });
});

const longestPath = (conversation: Conversation): number =>
  Math.max(...pathTokens(conversation).map(({ above, tokens }) => above + tokens));

test("a branch's tokens are those of its own path", () => {
  const said = (id: string, words: number) => ({ id, role: "user" as const, parts: [text("word ".repeat(words))] });
  const appends = [{ message: said("a", 10) }, { message: said("b", 500) }, { message: said("c", 10), parentId: "a" }];
  const [a, b, c] = pathTokens({ name: "n", userId: "u", appends });
  expect(c?.above).toBe(a?.tokens);
  expect(b?.above).toBe(a?.tokens);
});

describe("the demo's conversations", () => {
  const callsTools = ({ appends }: Conversation) =>
    appends.some(({ message }) => message.parts.some((part) => part.type === "dynamic-tool"));

  test.each(demoConversations)("$name calls tools and is long enough to be compacted", (conversation) => {
    expect(callsTools(conversation)).toBe(true);
    expect(longestPath(conversation)).toBeGreaterThan(SETTINGS.compaction.threshold);
  });

  test.each(demoConversations)("$name hangs every message below one that comes before it", ({ appends }) => {
    const ids = appends.map(({ message }) => message.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [index, { parentId }] of appends.entries()) {
      if (parentId !== undefined && parentId !== null) expect(ids.slice(0, index)).toContain(parentId);
    }
  });

  test("have branches", () => {
    expect(
      demoConversations.filter(({ appends }) => appends.some(({ parentId }) => parentId !== undefined)).length,
    ).toBeGreaterThan(1);
  });
});
