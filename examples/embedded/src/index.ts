/**
 * The engine without the plane: a worker whose Durable Object keeps several conversations of one user. The
 * routes are the least that shows it; a real one asks who is there.
 */
import { DurableObject } from "cloudflare:workers";
import { SessionError, type SessionMessage, Sessions, createCompactFunction } from "@sessionplane/engine/library/sessions";

declare global {
  namespace Cloudflare {
    interface Env {
      ASSISTANT: DurableObjectNamespace<Assistant>;
    }
  }
}

const RECENT_BYTES = 1024 * 1024;
const COMPACT_AFTER_TOKENS = 2_000;
const KEEP_TOKENS = 500;
const MEMORY_TOKENS = 500;

/** In place of a model: the prompt's size. With one, `generateText({ model, prompt })` belongs here. */
const summarize = async (prompt: string): Promise<string> => `## Topic\nA conversation of ${prompt.length} characters.`;

export class Assistant extends DurableObject {
  readonly sessions = new Sessions(this.ctx, { reservedMetadataKeys: ["channel"] });
  readonly compact = createCompactFunction({ summarize, keepRecentTokens: KEEP_TOKENS });

  #session(id: string) {
    return this.sessions
      .session(id)
      .withContext("memory", { description: "Learned facts about the user", maxTokens: MEMORY_TOKENS })
      .withCachedPrompt()
      .onCompaction(this.compact)
      .compactAfter(COMPACT_AFTER_TOKENS);
  }

  /**
   * POST appends a message that a client sends, or with `?tool=` calls a tool as a model would. GET gives what a
   * model is called with: the prompt and what came last, `?leaf=` on another branch.
   */
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const session = this.#session(url.pathname.slice(1));
    try {
      const tool = url.searchParams.get("tool");
      if (tool !== null) return Response.json(await (await session.tools())[tool]?.execute(await request.json()));
      if (request.method === "POST") {
        const parentId = url.searchParams.get("parent") ?? undefined;
        const result = await session.appendMessage(await request.json<SessionMessage>(), { parentId, source: "client" });
        return Response.json(result, { status: result.inserted ? 201 : 200 });
      }
      const leafId = url.searchParams.get("leaf") ?? undefined;
      const system = await session.freezeSystemPrompt();
      return Response.json({ system, ...(await session.getRecentHistory(RECENT_BYTES, { leafId })) });
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      return Response.json({ code: error.code, message: error.message }, { status: 422 });
    }
  }
}

const handler: ExportedHandler<Cloudflare.Env> = {
  fetch: (request, env) => env.ASSISTANT.getByName("the user").fetch(request),
};
export default handler;
