import { describe, expect, test } from "vitest";
import { SECTIONS } from "./prompt.ts";
import { rejectionOf } from "./validate.ts";

const GOOD = SECTIONS.map((name) => `## ${name}\nIt was discussed.`).join("\n\n");
const check = (text: string, finishReason = "stop", maxTokens = 500) => rejectionOf({ text, finishReason, maxTokens });

describe("rejectionOf", () => {
  test("lets a whole summary of the right size stand", () => {
    expect(check(GOOD)).toBeNull();
  });

  test("lets a summary speak of tools, markup and code", () => {
    expect(check(`${GOOD}\n- The tool \`search\` gave <b>2</b> rows of {"name": 1}`)).toBeNull();
  });

  test.each([
    ["was cut off", GOOD, "length", /stopped early \(length\)/],
    ["is empty", " \n", "stop", /empty/],
    ["calls a tool", `${GOOD}\n<tool_call>{}</tool_call>`, "stop", /tool calls or reasoning/],
    ["thinks aloud", `<think>hm</think>\n${GOOD}`, "stop", /tool calls or reasoning/],
    ["has a chat template's marks", `${GOOD}<|im_end|>`, "stop", /tool calls or reasoning/],
    ["lacks sections", "## Topic\nx\n\n## Facts\ny", "stop", /Key Points, Current State, Open Items/],
    ["is too long", `${GOOD}\n${"word ".repeat(600)}`, "stop", /at most 500/],
  ])("says why a summary may not stand that %s", (_name, text, finishReason, reason) => {
    expect(check(text, finishReason)).toMatch(reason);
  });
});
