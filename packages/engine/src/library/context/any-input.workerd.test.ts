/** Whatever a model sends, and whatever blocks are called and hold, a tool answers with a text. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AgentSearchProvider, Session, SessionManager } from "../sessions.ts";
import { skills } from "../testing/context-providers.ts";
import { appendAll, newObject, talk } from "../testing/in-object.ts";

const RUNS = { numRuns: 60 };
const STORAGE_FAILED = /^Error: this could not be done/;

/** Of every kind that is odd somewhere: half pairs, zero bytes, quotes, operators of a search. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom(
      "\ud800",
      "\udc00",
      "\0",
      '"',
      "'",
      "*",
      "(",
      " OR ",
      "NEAR",
      ":",
      "-",
      "?",
      "[",
      "]",
      "═",
      "\n",
      "a",
      "用",
    ),
  }),
  fc.constantFrom("", "__proto__", "constructor", "[messages]", "memory", "skills", "knowledge"),
);
const anyLabel = anyText.filter((label) => label !== "" && label.isWellFormed());
const anyArguments = fc.oneof(
  fc.anything(),
  fc.record(
    {
      label: anyText,
      content: anyText,
      key: anyText,
      query: anyText,
      summary_id: anyText,
      after: anyText,
      action: fc.constantFrom("replace", "append"),
      metadata: fc.record({ title: anyText, description: anyText }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  ),
);

test("of a session, with labels, contents, keys and queries of any kind", () =>
  newObject().run(async (host) => {
    await fc.assert(
      fc.asyncProperty(anyLabel, anyText, fc.array(anyArguments, { maxLength: 3 }), async (label, content, calls) => {
        const session = Session.create(host)
          .forSession(crypto.randomUUID())
          .withContext("memory", { maxTokens: 100 })
          .withContext("skills", { provider: skills({ guide: "x" }) })
          .withContext("knowledge", { provider: new AgentSearchProvider(host) })
          .withContext(label, { description: content });
        await appendAll(session, talk(3));
        await session.addCompaction("a summary", "m0", "m1");
        const named = [
          { label, content },
          { label: "knowledge", content, metadata: { title: content } },
          { label: "knowledge", query: content },
          { label: "skills", key: content },
          { query: content },
        ];
        for (const { execute } of Object.values(await session.tools())) {
          for (const args of [...named, ...calls]) expect(await execute(args)).not.toMatch(STORAGE_FAILED);
        }
        await session.clearMessages();
        expect(typeof (await session.refreshSystemPrompt())).toBe("string");
      }),
      RUNS,
    );
  }));

test("of a manager", () =>
  newObject().run(async (host) => {
    const manager = SessionManager.create(host);
    await manager.appendAll((await manager.create("a")).id, talk(3));
    const tool = (await manager.tools())["session_search"];
    await fc.assert(
      fc.asyncProperty(anyArguments, anyText, async (args, query) => {
        expect(await tool?.execute(args)).not.toMatch(STORAGE_FAILED);
        expect(await tool?.execute({ query })).not.toMatch(STORAGE_FAILED);
      }),
      RUNS,
    );
  }));
