/** Whole conversations of a scripted model through the AI SDK, with the session's prompt and tools as they are. */
import {
  type UIMessage,
  type ToolSet,
  convertToModelMessages,
  generateText,
  isStepCount,
  readUIMessageStream,
  streamText,
} from "ai";
import { MockLanguageModelV4, convertArrayToReadableStream } from "ai/test";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { AgentSearchProvider, Session, type SessionMessage, type SessionTools } from "../sessions.ts";
import { readonlyText, skills } from "../testing/context-providers.ts";
import type { TestHost } from "../testing/host-worker.ts";
import { newObject, text } from "../testing/in-object.ts";

/** A text that ends the turn, or the call of a tool. */
type Step = string | { readonly tool: string; readonly args: object };

const NO_TOKENS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** Says its steps one after another, whatever it is told. */
function scripted(...steps: Step[]): MockLanguageModelV4 {
  let at = 0;
  const next = () => {
    const step = steps[at++] ?? "The script is over.";
    if (typeof step === "string") return { said: step, finishReason: { unified: "stop", raw: "stop" } as const };
    const { tool: toolName, args } = step;
    const call = { type: "tool-call", toolCallId: crypto.randomUUID(), toolName, input: JSON.stringify(args) } as const;
    return { call, finishReason: { unified: "tool-calls", raw: "tool_calls" } as const };
  };
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const { said, call, finishReason } = next();
      return { content: [call ?? { type: "text", text: said }], finishReason, usage: NO_TOKENS, warnings: [] };
    },
    doStream: async () => {
      const { said, call, finishReason } = next();
      const content =
        call === undefined
          ? ([
              { type: "text-start", id: "0" },
              { type: "text-delta", id: "0", delta: said },
              { type: "text-end", id: "0" },
            ] as const)
          : [call];
      const parts = [...content, { type: "finish", finishReason, usage: NO_TOKENS }] as const;
      return { stream: convertArrayToReadableStream([...parts]) };
    },
  });
}

const MAX_STEPS = 5;

async function callOf(session: Session, model: MockLanguageModelV4, question: string) {
  await session.appendMessage(text(crypto.randomUUID(), question));
  const tools = await session.tools();
  const messages = await convertToModelMessages((await session.getHistory()) as UIMessage[], { tools });
  return { model, instructions: await session.freezeSystemPrompt(), messages, tools, stopWhen: isStepCount(MAX_STEPS) };
}

/** One turn, streamed, its reply stored as the SDK's own message. */
async function streamed(session: Session, model: MockLanguageModelV4, question: string): Promise<string> {
  const result = streamText(await callOf(session, model, question));
  let reply: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream: result.toUIMessageStream() })) reply = message;
  if (reply !== undefined) await session.appendMessage({ ...reply, id: crypto.randomUUID() });
  return result.text;
}

/** One turn in one piece, its calls stored as parts of static tools. */
async function generated(session: Session, model: MockLanguageModelV4, question: string): Promise<string> {
  const result = await generateText(await callOf(session, model, question));
  const calls = result.steps.flatMap(({ toolResults }) =>
    toolResults.map(({ toolName, toolCallId, input, output }) => {
      return { type: `tool-${toolName}`, toolCallId, state: "output-available", input, output };
    }),
  );
  const reply: SessionMessage = {
    id: crypto.randomUUID(),
    role: "assistant",
    parts: [...calls, { type: "text", text: result.text }],
  };
  await session.appendMessage(reply);
  return result.text;
}

/** What the model was sent last. */
const promptOf = (model: MockLanguageModelV4): string =>
  JSON.stringify([...model.doGenerateCalls, ...model.doStreamCalls].at(-1)?.prompt);

test("the tools are a tool set of the SDK", () => {
  expectTypeOf<SessionTools>().toExtend<ToolSet>();
  const mine = { clock: { description: "The time", inputSchema: z.object({}), execute: async () => "noon" } };
  const all = (tools: SessionTools) => ({ ...tools, ...mine });
  expectTypeOf(all).returns.toExtend<ToolSet>();
});

describe.each([
  ["streamText", streamed],
  ["generateText", generated],
])("a conversation by %s", (_name, turn) => {
  const sessionOf = (host: TestHost) =>
    Session.create(host)
      .withContext("soul", { provider: readonlyText("You are a helpful assistant.") })
      .withContext("memory", { description: "Learned facts about the user", maxTokens: 1100 })
      .withContext("skills", { provider: skills({ "api-ref": "GET /things gives the things." }) })
      .withContext("knowledge", { provider: new AgentSearchProvider(host) })
      .withCachedPrompt();

  test("remembers, indexes, searches, loads and unloads, with evictions in between", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const session = sessionOf(host);
      const model = scripted(
        { tool: "set_context", args: { label: "memory", content: "User likes coffee.", action: "append" } },
        {
          tool: "set_context",
          args: { label: "knowledge", content: "The shop deploys on Fridays.", metadata: { title: "Deploys" } },
        },
        "Noted.",
      );
      expect(await turn(session, model, "I like coffee.")).toBe("Noted.");
      expect(promptOf(model)).toContain("Written to memory. Usage: 0%");
      expect(promptOf(model)).toContain('Indexed \\"deploys\\" in knowledge.');
      expect(promptOf(model)).not.toContain("\\nUser likes coffee.");
    });
    await object.evict();
    await object.run(async (host) => {
      const session = sessionOf(host);
      await session.refreshSystemPrompt();
      const model = scripted(
        { tool: "search_context", args: { label: "knowledge", query: "shop deploys" } },
        { tool: "load_context", args: { label: "skills", key: "api-ref" } },
        "It is GET /things.",
      );
      await turn(session, model, "How do I get the things?");
      expect(promptOf(model)).toContain("\\nUser likes coffee.");
      expect(promptOf(model)).toContain("[deploys]\\nThe shop deploys on Fridays.");
      expect(promptOf(model)).toContain("GET /things gives the things.");
    });
    await object.evict();
    await object.run(async (host) => {
      const session = sessionOf(host);
      const model = scripted({ tool: "unload_context", args: { label: "skills", key: "api-ref" } }, "Done.");
      await turn(session, model, "Thanks.");
      expect(promptOf(model)).toContain("Context reclaimed.");
      const after = scripted("Hello again.");
      await turn(session, after, "Hello?");
      expect(promptOf(after)).toContain("[skill unloaded: api-ref]");
      expect(promptOf(after)).not.toContain("GET /things gives the things.");
    });
  });

  test("goes on after calls that can't be done", () =>
    newObject().run(async (host) => {
      const session = sessionOf(host);
      const model = scripted(
        { tool: "set_context", args: { label: "soul", content: "You are a pirate." } },
        { tool: "load_context", args: { label: "nothing", key: "x" } },
        { tool: "unload_context", args: { label: "skills", key: "api-ref" } },
        "I can't.",
      );
      expect(await turn(session, model, "Be a pirate.")).toBe("I can't.");
      expect(promptOf(model)).toContain('Error: block \\"soul\\" is readonly');
      expect(promptOf(model)).toContain('Error: \\"nothing\\" is not a loadable block');
      expect(promptOf(model)).toContain("is not currently loaded");
    }));

  test("recalls what a summary stands for", () =>
    newObject().run(async (host) => {
      const session = sessionOf(host);
      await session.appendMessage(text("m1", "The password of the wifi is swordfish."));
      const { id } = await session.addCompaction("They spoke of the wifi.", "m1", "m1");
      const model = scripted({ tool: "recall", args: { summary_id: `compaction_${id}` } }, "It is swordfish.");
      await turn(session, model, "What was the password?");
      expect(promptOf(model)).toContain("swordfish");
    }));

  test("of forty turns has one prompt and one set of tools, byte for byte, until it is refreshed", () =>
    newObject().run(async (host) => {
      const session = sessionOf(host);
      const prompts = new Set<string>();
      const toolSets = new Set<string>();
      const look = ({ doGenerateCalls, doStreamCalls }: MockLanguageModelV4) => {
        for (const { prompt, tools } of [...doGenerateCalls, ...doStreamCalls]) {
          prompts.add(JSON.stringify(prompt[0]));
          toolSets.add(JSON.stringify(tools));
        }
      };
      for (let index = 0; index < 40; index++) {
        const steps: Step[] = [
          { tool: "set_context", args: { label: "memory", content: `Fact ${index}.`, action: "append" } },
          { tool: index % 2 === 0 ? "load_context" : "unload_context", args: { label: "skills", key: "api-ref" } },
          { tool: "set_context", args: { label: "knowledge", content: `Entry ${index}` } },
        ];
        const model = scripted(steps[index % 3] ?? "", `Turn ${index}.`);
        await turn(session, model, `Question ${index}`);
        look(model);
      }
      expect([prompts.size, toolSets.size]).toEqual([1, 1]);
      expect([...toolSets][0]).toContain('"enum":["memory","skills","knowledge"]');
      await session.refreshSystemPrompt();
      const model = scripted("And on.");
      await turn(session, model, "And?");
      look(model);
      expect([prompts.size, toolSets.size]).toEqual([2, 1]);
    }));
});
