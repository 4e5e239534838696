/** What the AI SDK makes of a history that was cut. Here, since only this worker has the SDK. */
import { type ToolSet, type UIMessage, convertToModelMessages, tool } from "ai";
import { expect, test } from "vitest";
import * as z from "zod";
import { truncateOlderMessages, truncateOlderToolResults } from "@sessionplane/engine/library/truncate-older";

const output = { path: "/large.txt", content: "x".repeat(5_000), lines: Array.from({ length: 900 }, (_, line) => line) };
const history: UIMessage[] = [
  { id: "u1", role: "user", parts: [{ type: "text", text: "read it" }] },
  {
    id: "a1",
    role: "assistant",
    parts: [{ type: "tool-read", toolCallId: "c1", state: "output-available", input: {}, output }],
  },
  ...["u2", "u3", "u4", "u5"].map((id): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: id }] })),
];
const toolWith = (schema: z.ZodType<typeof output>): ToolSet => ({
  read: tool({
    inputSchema: z.object({}),
    outputSchema: z.object({}).loose(),
    toModelOutput: ({ output: read }) => {
      const { path, content, lines } = schema.parse(read);
      return { type: "text", value: `${path}: ${lines.length} lines\n${content}` };
    },
  }),
});
const results = (messages: Awaited<ReturnType<typeof convertToModelMessages>>): string =>
  JSON.stringify(messages.filter(({ role }) => role === "tool"));

/** cloudflare/agents#1498: a text in place of the object has no fields to read, on every call from then on. */
test("a tool that reads the fields of its output goes on with a cut one", async () => {
  const reads = z.object({ path: z.string(), content: z.string(), lines: z.array(z.any()) });
  const messages = truncateOlderMessages(history);
  const converted = await convertToModelMessages(messages, { tools: toolWith(reads) });
  expect(results(converted)).toContain("/large.txt: 65 lines");
});

/** cloudflare/agents#2014 */
test("a tool that checks its output sees it whole, and what it made of it is cut", async () => {
  const strict = z.object({ path: z.string(), content: z.string().length(5_000), lines: z.array(z.number()).length(900) });
  const options = { tools: toolWith(strict) };
  await expect(convertToModelMessages(truncateOlderMessages(history), options)).rejects.toThrow(
    "expected string to have exactly 5000 characters",
  );
  const messages = truncateOlderMessages(history, { toolOutputs: false });
  const converted = await convertToModelMessages(messages, options);
  const cut = truncateOlderToolResults(converted, messages);
  expect(results(converted).length).toBeGreaterThan(5_000);
  expect(results(cut)).toContain("/large.txt: 900 lines");
  expect(results(cut).length).toBeLessThan(700);
  expect(truncateOlderToolResults(converted, { keepRecent: 4 })).toEqual(cut);
});
