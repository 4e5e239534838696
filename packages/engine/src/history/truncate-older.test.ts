import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { olderCount, truncateOlderMessages } from "./truncate-older.ts";

type Part = { type: string; [field: string]: unknown };
type Message = { id: string; role: string; parts: Part[] };
const of = (id: string, ...parts: Part[]): Message => ({ id, role: "assistant", parts });
const said = (id: string, text = id): Message => of(id, { type: "text", text });
const tool = (output: unknown, more: object = {}): Part => ({
  type: "tool-read",
  toolCallId: "c",
  state: "output-available",
  input: {},
  output,
  ...more,
});
const recent = ["r1", "r2", "r3", "r4"].map((id) => said(id));
/** The part as an older message has it. */
const older = (part: Part, options = {}): Part | undefined =>
  truncateOlderMessages([of("old", part), ...recent], options)[0]?.parts[0];

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}

describe("a text", () => {
  test.each([
    [10_000, 10_000],
    [10_001, 10_027],
    [1_000_000, 10_029],
  ])("of %i characters reads as one of %i", (length, expected) => {
    const text = "x".repeat(length);
    const cut = String(older({ type: "text", text })?.["text"]);
    expect(cut.length).toBe(expected);
    expect(cut).toBe(length <= 10_000 ? text : `${"x".repeat(10_000)}... [truncated ${length} chars]`);
  });

  test("is never cut in the middle of a character", () => {
    expect(older({ type: "text", text: "ab😀cd" }, { maxTextChars: 3 })?.["text"]).toBe("ab... [truncated 6 chars]");
    expect(older({ type: "text", text: "ab😀cd" }, { maxTextChars: 4 })?.["text"]).toBe("ab😀... [truncated 6 chars]");
  });

  test("of reasoning stays whole", () => {
    const part = { type: "reasoning", text: "x".repeat(20_000) };
    expect(older(part)).toBe(part);
  });
});

describe("a tool's output", () => {
  const long = { path: "/large.txt", content: "x".repeat(1_000), totalLines: 1 };

  test("is cut with its shape, of a static tool and of a dynamic one", () => {
    for (const part of [tool(long), tool(long, { type: "dynamic-tool", toolName: "read" })]) {
      const output = older(part)?.["output"];
      expect(output).toMatchObject({ path: "/large.txt", totalLines: 1 });
      expect(JSON.stringify(output).length).toBe(500);
    }
  });

  test.each([
    ["that the provider made", { providerExecuted: true }],
    ["that is not there yet", { state: "input-available" }],
    ["that is an error", { state: "output-error" }],
    ["of no state", { state: undefined }],
    ["of another part", { type: "data-read" }],
  ])("%s stays", (_name, more) => {
    const part = tool(long, more);
    expect(older(part)).toBe(part);
  });

  test("stays when it is to be cut after the conversion, and texts are cut all the same", () => {
    const messages = [of("old", tool(long), { type: "text", text: "x".repeat(10_001) }), ...recent];
    const parts = truncateOlderMessages(messages, { toolOutputs: false })[0]?.parts;
    expect(parts?.[0]).toBe(messages[0]?.parts[0]);
    expect(String(parts?.[1]?.["text"]).length).toBe(10_027);
  });
});

test("the newest four stay as they are, and nothing older gives the same array", () => {
  const output = "y".repeat(1_000);
  const messages = [of("1", tool(output)), of("2", tool(output)), of("3", tool(output)), of("4", tool(output))];
  expect(truncateOlderMessages(messages)).toBe(messages);
  const five = [said("0"), ...messages];
  const truncated = truncateOlderMessages(five);
  expect(truncated).toEqual(five);
  truncated.forEach((message, index) => expect(message).toBe(five[index]));
  expect(truncateOlderMessages(five, { keepRecent: 0 })[4]?.parts[0]?.["output"]).toHaveLength(500);
});

const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.string({ unit: "grapheme", maxLength: 80 }) }),
  fc.oneof(fc.string({ maxLength: 200 }), fc.jsonValue()).map((output) => tool(output)),
);
const conversations = fc.array(fc.array(part, { maxLength: 3 }).map((parts): Message => ({ id: "m", role: "user", parts })));
const options = fc.record({
  keepRecent: fc.nat(6),
  step: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(Infinity)),
  maxToolOutputChars: fc.nat(120),
  maxTextChars: fc.nat(60),
});

test("any conversation: not changed itself, the newest as they were, and the same when it is cut again", () => {
  fc.assert(
    fc.property(conversations, options, (messages, chosen) => {
      const cut = truncateOlderMessages(freeze(messages), chosen);
      const count = olderCount(messages.length, chosen);
      expect(cut).toHaveLength(messages.length);
      cut.slice(count).forEach((message, index) => expect(message).toBe(messages[count + index]));
      const again = truncateOlderMessages(cut, chosen);
      again.forEach((message, index) => expect(message).toBe(cut[index]));
    }),
  );
});

describe("the step", () => {
  test("moves what is older only every so many messages", () => {
    const counts = Array.from({ length: 22 }, (_, messages) => olderCount(messages, { step: 8 }));
    expect(counts).toEqual([...Array<number>(12).fill(0), ...Array<number>(8).fill(8), 16, 16]);
    expect([3, 5, 6].map((messages) => olderCount(messages, {}))).toEqual([0, 1, 2]);
    expect(olderCount(1_000, { step: Infinity })).toBe(0);
  });

  test("between two of its multiples a conversation that grows begins as it did", () => {
    const all = Array.from({ length: 40 }, (_, index) => of(`${index}`, tool("z".repeat(600 + index))));
    const read = (count: number): string[] =>
      truncateOlderMessages(all.slice(0, count), { step: 8 }).map((one) => JSON.stringify(one));
    let broken = 0;
    for (let count = 4; count < all.length; count += 1) {
      const [before, after] = [read(count), read(count + 1)];
      if (before.some((one, index) => one !== after[index])) broken += 1;
    }
    expect(broken).toBe(4);
  });
});
