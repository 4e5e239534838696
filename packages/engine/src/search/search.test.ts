import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_CONTENT_UNITS, beginningOf, indexedText, textOf } from "./message-text.ts";
import { matchExpression, parseQuery } from "./query.ts";
import { snippetOf } from "./snippet.ts";
import { stemOf } from "./stem.ts";
import { MAX_WORD_UNITS, normalText, wordsOf } from "./words.ts";

const spellings = (text: string): string[] => [...wordsOf(normalText(text))].map((word) => word.spelling);

describe("a stem", () => {
  // Of the vocabulary that Porter published with the algorithm.
  test.each([
    ["caresses", "caress"],
    ["ponies", "poni"],
    ["cats", "cat"],
    ["agreed", "agre"],
    ["plastered", "plaster"],
    ["motoring", "motor"],
    ["sing", "sing"],
    ["hopping", "hop"],
    ["falling", "fall"],
    ["filing", "file"],
    ["happy", "happi"],
    ["sky", "sky"],
    ["deploy", "deploy"],
    ["deployed", "deploy"],
    ["relational", "relat"],
    ["conditional", "condit"],
    ["hopefulness", "hope"],
    ["formality", "formal"],
    ["sensibility", "sensibl"],
    ["triplicate", "triplic"],
    ["goodness", "good"],
    ["adjustable", "adjust"],
    ["replacement", "replac"],
    ["adoption", "adopt"],
    ["probate", "probat"],
    ["rate", "rate"],
    ["controlling", "control"],
    ["generalizations", "gener"],
    ["oscillators", "oscil"],
    ["yes", "ye"],
    ["deployments", "deploy"],
  ])("of %s is %s", (word, stem) => expect(stemOf(word)).toBe(stem));

  test("of what is no English word is the word", () => {
    for (const word of ["as", "größen", "咖", "x1s", "a".repeat(65)]) expect(stemOf(word)).toBe(word);
  });
});

describe("words", () => {
  test("have no case and no accents; letters, marks and digits make one", () => {
    expect(spellings("Café CAFE\u0301 naïve ΣΟΦΌΣ İstanbul 3rd don't")).toEqual(
      "cafe cafe naive σοφοσ istanbul 3rd don t".split(" "),
    );
    expect(spellings("हिन्दी שָׁלוֹם")).toEqual(["हिन्दी", "שלום"]);
  });

  test("are single characters where a script has no spaces, whole syllables and kana, emoji too", () => {
    expect(spellings("用iPhone喝咖啡。")).toEqual(["用", "iphone", "喝", "咖", "啡"]);
    expect(spellings("안녕 コーヒー ガｶﾞ".normalize("NFD"))).toEqual([..."안녕コーヒーガガ"]);
    expect(spellings("ok👍🏽!")).toEqual(["ok", "👍"]);
    expect(spellings("กาแฟ").length).toBe(4);
  });

  test("that are very long are known by their beginning, never by half a character", () => {
    expect(spellings("a".repeat(10_000))).toEqual(["a".repeat(MAX_WORD_UNITS)]);
    expect(spellings(`a${"𝔞".repeat(200)}`)[0]).toMatch(/^a+$/);
  });

  test("are where they are said to be, in any string", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (any) => {
        const text = normalText(any);
        let at = 0;
        for (const { start, end } of wordsOf(text)) {
          expect(start >= at && end > start && end <= text.length).toBe(true);
          at = start;
        }
      }),
    );
  });
});

describe("a query", () => {
  const expression = (text: string) => matchExpression(parseQuery(text));

  test("is terms that must all be there, each once", () => {
    expect(expression("deployment  Friday friday")).toBe(`stems : "deploy" AND stems : "friday"`);
    expect(expression("用户 e-mail")).toBe(`stems : "用 户" AND stems : "e mail"`);
  });

  test("has phrases in quotes, also in one that is never closed, and beginnings", () => {
    expect(expression('"we plan" “the ponies')).toBe(`stems : "we plan" AND stems : "the poni"`);
    expect(expression("Deploym*")).toBe(`{stems spellings} : "deploym" *`);
    expect(expression('"plans deploym"*')).toBe(`(stems : "plan deploym" * OR (stems : "plan" AND spellings : "deploym" *))`);
  });

  test("of nothing that could be found is none", () => {
    for (const text of ["", " ", "*", '""', "\0", "!?", "\uD800"]) expect(expression(text)).toBeNull();
  });

  test("is words, quotes and our own operators, whatever is typed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const bare = (expression(text) ?? "").replaceAll(/"[^"\0]*"/g, "P");
        expect(bare).toMatch(/^(?:(?:stems|spellings|AND|OR|P|[{}():* ])*)$/);
      }),
    );
  });
});

describe("a snippet", () => {
  const snippet = (text: string, query: string): string => snippetOf(text, parseQuery(query));

  test("marks words in every form, phrases, beginnings and parts of CJK text", () => {
    expect(snippet("We deployed, and will deploy.", "deploys")).toBe("We «deployed», and will «deploy».");
    expect(snippet("on Friday we plan", '"friday we"')).toBe("on «Friday we» plan");
    expect(snippet("a deployment", "deploym*")).toBe("a «deployment»");
    expect(snippet("用户喜欢咖啡", "喜欢")).toBe("用户«喜欢»咖啡");
    expect(snippet("Ein Café", "cafe")).toBe("Ein «Café»");
  });

  test("is the place where most of the query is, and short", () => {
    const far = `apple ${"x ".repeat(5_000)} apple pear ${"y ".repeat(5_000)}`;
    const shown = snippet(far, "apple pear");
    expect(shown).toContain("«apple» «pear»");
    expect(shown.startsWith("…") && shown.endsWith("…")).toBe(true);
    expect(shown.length).toBeLessThan(300);
  });

  test("of any text and any query is text without half characters of ours", () => {
    const any = fc.string({ unit: "grapheme", maxLength: 400 });
    fc.assert(
      fc.property(any, any, (text, query) => {
        expect(snippet(text, query).isWellFormed()).toBe(true);
      }),
    );
  });
});

test("a message's text is its text parts, a line each", () => {
  const parts = [
    { type: "text", text: "one" },
    { type: "reasoning", text: "hidden" },
    { type: "tool-x", output: "hidden", toolCallId: "c" },
    { type: "text", text: "two" },
    { type: "text" },
  ];
  expect(textOf({ parts })).toBe("one\ntwo");
});

test("the index keeps stems in order, and spellings that are not their stem once", () => {
  expect(indexedText("Plans plan plans")).toEqual({ stems: "plan plan plan", spellings: "plans" });
});

test("a content's beginning ends between characters", () => {
  expect(beginningOf("short", MAX_CONTENT_UNITS)).toBe("short");
  expect(beginningOf("ab😀", 3)).toBe("ab");
});
