import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { factText, factsOf } from "@sessionplane/engine/compaction/facts";
import { SECTIONS } from "@sessionplane/engine/compaction/prompt";
import { measureRetention } from "@sessionplane/engine/compaction/retention";
import { type Entry, entryOf } from "@sessionplane/engine/compaction/transcript";
import { rejectionOf } from "@sessionplane/engine/compaction/validate";
import { estimateMessage, estimateText } from "@sessionplane/engine/tokens/estimate";
import type { Message } from "@sessionplane/shared/message";
import { extract } from "./extract.ts";

const says = (id: string, role: string, text: string): Entry => ({ kind: "message", id, role, text });
const TRIP: Entry[] = [
  says("m1", "user", "I would like to change my flight to Newark. My reservation is 4WQ150."),
  says("m2", "assistant", "I can change the flight of reservation 4WQ150. Which day would you like?"),
  says("m3", "tool", '[Tool: search_flights]\nInput: {"date":"2024-05-16"}\nOutput: {"flight_number":"HAT123","price_usd":152}'),
  says("m4", "assistant", "Flight HAT123 leaves on 2024-05-16 and costs $152."),
  says("m5", "user", "Is there a later one on the same day?"),
];
const section = (summary: string, name: string): string => summary.split(`## ${name}\n`)[1]?.split("\n\n## ")[0] ?? "";

describe("extract", () => {
  test("fills every section from the messages", () => {
    const summary = extract(TRIP, 300);
    expect(rejectionOf({ text: summary, finishReason: "stop", maxTokens: 300 })).toBeNull();
    expect(section(summary, "Topic")).toContain("change my flight to Newark");
    expect(section(summary, "Key Points")).toContain("Tools called: search_flights");
    expect(section(summary, "Key Points")).toContain("[m2]");
    expect(section(summary, "Current State")).toContain("HAT123 leaves on 2024-05-16");
    expect(section(summary, "Open Items")).toContain("Is there a later one on the same day?");
    expect(measureRetention(["4WQ150", "HAT123", "2024-05-16", "$152", "152"], summary).dropped).toEqual([]);
  });

  test("takes values, not keys, from what tools gave", () => {
    expect(extract(TRIP, 300)).not.toContain("flight_number");
  });

  test("carries what an earlier summary said, and adds to it", () => {
    const first = extract(TRIP, 300);
    const later = extract([{ kind: "summary", text: first }, says("m6", "user", "Then book HAT999 with gift_card_77.")], 400);
    expect(section(later, "Topic")).toBe(section(first, "Topic"));
    expect(section(later, "Open Items")).toContain("Is there a later one");
    for (const fact of ["4WQ150", "HAT123", "HAT999", "gift_card_77"]) expect(later).toContain(fact);
  });

  test("adds up the tools of an earlier summary, and does not list the ids of its messages as facts", () => {
    const first = extract(
      [...TRIP, says("trajectory-7-0", "user", "My certificate 7504069 should pay for the later flight.")],
      400,
    );
    expect(first).toContain("[trajectory-7-0]");
    const call = says("m7", "tool", "[Tool: search_flights]\nInput: {}");
    const later = extract([{ kind: "summary", text: first }, call, says("m8", "assistant", "It was searched once more.")], 400);
    expect(section(later, "Key Points")).toContain("Tools called: search_flights ×2");
    expect(section(later, "Facts")).not.toContain("trajectory");
  });

  test("leaves out of the open items what the assistant replied to, unless it asked back", () => {
    const asks = says("m1", "user", "Is there a seat by the window?");
    const open = (reply: string) => section(extract([asks, says("m2", "assistant", reply)], 300), "Open Items");
    expect(open("There is one in row 12.")).toBe("None.");
    expect(open("On which of the two flights?")).toContain("a seat by the window?");
  });

  test("prefers sentences to lines of lists and code, says each once, and shows no marks of bold", () => {
    const offer =
      "**Flight HAT110**\n\n- **Departure:** 10:00 PM EST\n\n```\nprint(offer)\n```\n\nFlight **HAT110** is the cheapest of them.";
    const points = section(extract([says("m1", "assistant", offer), says("m2", "assistant", offer)], 250), "Key Points");
    expect(points.match(/Flight HAT110 is the cheapest of them\./g)).toHaveLength(1);
    expect(points).not.toMatch(/\*\*|print/);
    expect(points.indexOf("cheapest")).toBeGreaterThan(-1);
  });

  test("cuts a topic and a state that are too long between words", () => {
    const long = `I would like to know ${"whether it is possible and ".repeat(30)}so on.`;
    const summary = extract([says("m1", "user", long)], 200);
    expect(section(summary, "Topic")).toMatch(/(whether|it|is|possible|and)…$/);
    expect(section(summary, "Current State")).toMatch(/^- user: I would like .*(whether|it|is|possible|and)…$/);
  });

  test("says the same of the same", () => {
    expect(extract(TRIP, 300)).toBe(extract(TRIP, 300));
  });

  test("has all sections and stays near its aim, whatever was said", () => {
    const entry = fc.record({
      kind: fc.constant("message" as const),
      id: fc.string({ maxLength: 8 }),
      role: fc.constantFrom("user", "assistant", "tool", "system"),
      text: fc.oneof(fc.lorem({ mode: "sentences", maxCount: 20 }), fc.string({ unit: "binary", maxLength: 300 })),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), fc.integer({ min: 200, max: 800 }), (entries, target) => {
        const summary = extract(entries, target);
        for (const name of SECTIONS) expect(summary).toContain(`## ${name}\n`);
        expect(estimateText(summary)).toBeLessThanOrEqual(target);
      }),
    );
  });
});

type ChatMessage = {
  role: Message["role"];
  content: string | null;
  name?: string;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
};

function fromChat({ role, content, name, tool_call_id, tool_calls = [] }: ChatMessage, index: number): Message {
  const text = { type: "text", text: content };
  const result = { type: "tool-result", toolName: name, toolCallId: tool_call_id, output: content };
  const calls = tool_calls.map((call) => ({
    type: `tool-${call.function.name}`,
    toolCallId: call.id,
    input: JSON.parse(call.function.arguments),
  }));
  return { id: `m${index}`, role, parts: [...(content === null ? [] : [role === "tool" ? result : text]), ...calls] };
}

/** The beginning of a text, as long as another one is in tokens. */
function beginning(text: string, tokens: number): string {
  let [fits, tooLong] = [0, text.length + 1];
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (estimateText(text.slice(0, middle)) <= tokens) fits = middle;
    else tooLong = middle;
  }
  return text.slice(0, fits);
}

const DATA = join(import.meta.dirname, "../../../../../shared/data/airline-trajectories.jsonl");

describe("extract on real conversations", () => {
  test.skipIf(!existsSync(DATA))(
    "keeps at least three times the facts of a cut at equal size, and nine in ten",
    ({ annotate }) => {
      const totals = { facts: 0, kept: 0, cut: 0 };
      for (const row of readFileSync(DATA, "utf8").trim().split("\n")) {
        const { messages }: { messages: ChatMessage[] } = JSON.parse(row);
        const range = messages.filter((message) => message.role !== "system").map(fromChat);
        const entries = range.map(entryOf);
        const facts = [...new Set(range.flatMap((message) => factsOf(factText(message))))];
        const summary = extract(entries, Math.ceil(range.reduce((sum, message) => sum + estimateMessage(message), 0) * 0.2));
        const transcript = entries
          .flatMap((entry) => (entry.kind === "message" ? [`${entry.role}: ${entry.text}`] : []))
          .join("\n\n");
        totals.facts += facts.length;
        totals.kept += measureRetention(facts, summary).kept;
        totals.cut += measureRetention(facts, beginning(transcript, estimateText(summary))).kept;
      }
      void annotate(`${totals.facts} facts: ${totals.kept} kept by the extract, ${totals.cut} by a cut of the same size`);
      expect(totals.kept / totals.facts).toBeGreaterThan(0.9);
      expect(totals.kept).toBeGreaterThan(totals.cut * 3);
    },
  );
});
