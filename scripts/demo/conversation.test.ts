import { describe, expect, test } from "vitest";
import { batches, fromChat, parseConversation, parseConversations } from "./conversation.ts";
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

describe("the demo's conversations", () => {
  test("have tool calls and branches", () => {
    const appends = demoConversations.flatMap((conversation) => conversation.appends);
    expect(appends.some((append) => append.message.parts.some((part) => part.type === "dynamic-tool"))).toBe(true);
    expect(appends.some((append) => append.parentId !== undefined)).toBe(true);
  });
});
