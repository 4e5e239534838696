/** An OpenAI-compatible server that answers every call alike, after a pause: what a model costs beside its time is nothing. */
import { type ServerResponse, createServer } from "node:http";
import { SECTIONS } from "@sessionplane/engine/compaction/prompt";

const SUMMARY = SECTIONS.map((name) => `## ${name}\nIt was discussed.`).join("\n\n");
const ANSWER = JSON.stringify({
  id: "bench",
  object: "chat.completion",
  created: 0,
  model: "bench",
  choices: [{ index: 0, message: { role: "assistant", content: SUMMARY }, finish_reason: "stop" }],
  usage: { prompt_tokens: 900, completion_tokens: 40, total_tokens: 940 },
});

export async function startModel() {
  let pauseMs = 0;
  const answer = (response: ServerResponse): void => {
    response.setHeader("Content-Type", "application/json");
    response.end(ANSWER);
  };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => (pauseMs === 0 ? answer(response) : void setTimeout(() => answer(response), pauseMs)));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    answerAfter: (ms: number) => void (pauseMs = ms),
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
