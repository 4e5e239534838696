/** An OpenAI-compatible server whose answers a test scripts: the model of the compactor over real HTTP. */
import { createServer } from "node:http";

export type Scripted =
  | { readonly kind: "status"; readonly status: number }
  /** Not JSON, with status 200: a proxy's page. */
  | { readonly kind: "garbage" }
  /** Takes the request and says nothing. */
  | { readonly kind: "silent" }
  | {
      readonly kind: "text";
      readonly text: string;
      readonly finish?: "stop" | "length" | "content_filter";
      readonly afterMs?: number;
    };

export const GOOD_SUMMARY = ["Topic", "Key Points", "Current State", "Open Items", "Facts"]
  .map((name) => `## ${name}\nIt was discussed.`)
  .join("\n\n");

/**
 * Answers in the order given; the last one goes on. `prompts` holds what was asked, `completed` counts
 * what has a price, `busy` says whether it still owes an answer, `dropped` counts callers that hung up before one.
 */
export async function startModelServer(script: Scripted[]) {
  const prompts: string[] = [];
  let completed = 0;
  let owed = 0;
  let dropped = 0;
  const server = createServer((request, response) => {
    let body = "";
    response.on("close", () => (dropped += response.writableEnded ? 0 : 1));
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      prompts.push(body);
      const next = (script.length > 1 ? script.shift() : script[0]) ?? { kind: "status", status: 500 };
      if (next.kind === "silent") return;
      if (next.kind === "garbage") {
        response.end("<html>Welcome</html>");
        return;
      }
      response.setHeader("Content-Type", "application/json");
      if (next.kind === "status") {
        response.statusCode = next.status;
        response.end(JSON.stringify({ error: { message: "scripted", type: "scripted" } }));
        return;
      }
      const choice = { index: 0, message: { role: "assistant", content: next.text }, finish_reason: next.finish ?? "stop" };
      const usage = { prompt_tokens: 900, completion_tokens: 40, total_tokens: 940 };
      const answer = { id: "c", object: "chat.completion", created: 0, model: "scripted", choices: [choice], usage };
      owed += 1;
      setTimeout(() => {
        owed -= 1;
        completed += 1;
        response.end(JSON.stringify(answer));
      }, next.afterMs ?? 0);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    prompts,
    completed: () => completed,
    busy: () => owed > 0,
    dropped: () => dropped,
    play: (...answers: Scripted[]) => void script.splice(0, script.length, ...answers),
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
