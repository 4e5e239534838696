import { describe, expect, test } from "vitest";
import { factText, factsOf, summaryFactText } from "./facts.ts";

describe("factsOf", () => {
  test.each([
    [
      "addresses",
      "Mail jane.doe+x@example.co.uk, see (https://ex.org/a/b?q=1).",
      ["jane.doe+x@example.co.uk", "https://ex.org/a/b?q=1"],
    ],
    [
      "dates and times",
      "On 2024-05-15 at 15:30, 5/16/2024, May 17, 2024 or 18 May",
      ["2024-05-15", "15:30", "5/16/2024", "May 17, 2024", "18 May"],
    ],
    ["amounts", "$1,234.50, 300 EUR and 3,000円", ["$1,234.50", "300 EUR", "3,000円"]],
    ["codes", "HAT123 of mia_li_3668, ERROR_CODE in v2.4.1, #1234", ["HAT123", "mia_li_3668", "ERROR_CODE", "v2.4.1", "#1234"]],
    ["paths", "In src/plan.ts, /etc/hosts.conf and C:\\a\\b.txt", ["src/plan.ts", "/etc/hosts.conf", "C:\\a\\b.txt"]],
    ["numbers with units", "45%, 3.5 GB, 12 passengers", ["45%", "3.5 GB", "12 passengers"]],
    ["quotations", "She said “keep this one”.", ["keep this one"]],
    ["telephone numbers", "Call +1 (555) 123-4567 now", ["+1 (555) 123-4567"]],
  ])("finds %s", (_name, text, facts) => {
    expect(factsOf(text)).toEqual(facts);
  });

  test("names each once, in the order of first mention", () => {
    expect(factsOf("B22 then A11, and B22 again")).toEqual(["B22", "A11"]);
  });

  test("takes no plain word for a fact", () => {
    expect(factsOf("I may march on in step 3.")).toEqual([]);
  });

  test.each(["a-", "1.", "/a", "a.b@", "日本", "+1 22 ", "A"])(
    "reads a long text of %j in time that grows with its length",
    (piece) => {
      const started = performance.now();
      factsOf(piece.repeat(50_000));
      expect(performance.now() - started).toBeLessThan(3_000);
    },
  );
});

describe("factText", () => {
  test("is what was said and the values that tools took and gave, without their keys", () => {
    const text = factText({
      id: "m",
      role: "assistant",
      parts: [
        { type: "reasoning", text: "R2D2" },
        { type: "text", text: "Booked." },
        { type: "tool-book", input: { flight_1: "HAT123" }, output: '{"price_2": 52, "ids": ["X9Y8"]}' },
      ],
    });
    expect(text.split("\n")).toEqual(["Booked.", "HAT123", "52", "X9Y8"]);
  });
});

describe("summaryFactText", () => {
  test("leaves out the ids of the messages that lines are from, and nothing else", () => {
    const summary = "## Key Points\n- user: Seat 12A [see B7] is free [msg_01HX]\n- agent: No.\n## Facts\n- HAT123";
    expect(factsOf(summaryFactText(summary))).toEqual(["12A", "B7", "HAT123"]);
  });
});
