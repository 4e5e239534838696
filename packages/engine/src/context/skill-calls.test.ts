import { expect, test } from "vitest";
import { skillCallsOf, withoutOutputs } from "./skill-calls.ts";

const REFUNDS = { label: "skills", key: "refunds" };
const part = (toolCallId: string, rest: { readonly type: string; readonly [name: string]: unknown }) => ({
  toolCallId,
  state: "output-available",
  input: REFUNDS,
  output: "text",
  ...rest,
});
const [statically, dynamically] = [{ type: "tool-load_context" }, { type: "dynamic-tool", toolName: "load_context" }];

test("loads and unloads are found in parts of both kinds, in their order", () => {
  const parts = [
    part("1", statically),
    part("2", dynamically),
    part("3", { type: "tool-unload_context", output: 'Unloaded "refunds" from skills.' }),
  ];
  expect(skillCallsOf({ parts }).map(({ kind, callId }) => [kind, callId])).toEqual([
    ["load", "1"],
    ["load", "2"],
    ["unload", "3"],
  ]);
});

test.each([
  ["another tool", part("1", { type: "tool-search_context" })],
  ["a call without a result", part("1", { ...statically, state: "input-available" })],
  ["a call that found nothing", part("1", { ...statically, output: "Not found: refunds" })],
  ["a call that was refused", part("1", { ...statically, output: 'Error: "x" is not a loadable block' })],
  ["what was unloaded already", part("1", { ...statically, output: "[skill unloaded: refunds]" })],
  ["arguments of another shape", part("1", { ...statically, input: "refunds" })],
  ["a name that is longer than any", part("1", { ...statically, input: { label: "skills", key: "k".repeat(1_025) } })],
  ["a text", { type: "text", text: "load_context" }],
])("%s is no call of a skill", (_, one) => {
  expect(skillCallsOf({ parts: [one] })).toEqual([]);
});

test("the reply of the plane as it came is a document too", () => {
  const [call] = skillCallsOf({ parts: [part("1", { ...statically, output: { output: "text", is_error: false } })] });
  expect(call?.output).toBe("text");
});

test("an output is taken out of a copy; the message and its other parts stay", () => {
  const message = { id: "a", role: "assistant" as const, parts: [part("1", statically), part("2", dynamically)] };
  const before = JSON.stringify(message);
  const masked = withoutOutputs(message, new Map([["1", "refunds"]]));
  expect(masked.parts.map((one) => one["output"])).toEqual(["[skill unloaded: refunds]", "text"]);
  expect(JSON.stringify(message)).toBe(before);
});

test("of two parts with the same call the last one counts, for noting and for hiding", () => {
  const parts = [part("1", { ...statically, output: "first" }), part("1", { ...dynamically, output: "second" })];
  expect(skillCallsOf({ parts }).map(({ output }) => output)).toEqual(["second"]);
  const masked = withoutOutputs({ id: "a", role: "assistant", parts }, new Map([["1", "refunds"]]));
  expect(masked.parts.map((one) => one["output"])).toEqual(["first", "[skill unloaded: refunds]"]);
});
