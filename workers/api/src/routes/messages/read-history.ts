/** `GET /v1/sessions/{session_id}/messages`: a page of the history, or all of it as NDJSON. */
import type { Context } from "hono";
import * as z from "zod";
import { messageMetaSchema, messageSchema } from "@sessionplane/shared/message";
import { MAX_PAGE_LIMIT } from "@sessionplane/shared/page";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err } from "@sessionplane/shared/result";
import type { HistoryPage, StreamQuery } from "@sessionplane/shared/rpc/session-rpc";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { encodePlace, placeCursorSchema, placeOf } from "../../http/cursor.ts";
import { limitSchema } from "../../http/list-query.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, reply, tenantRoute } from "../../http/routes.ts";
import { timed } from "../../http/request.ts";
import { callSession } from "../../session-client.ts";

/** The bytes of messages as links, or in place, exactly as they came. */
export const attachmentsSchema = z.enum(["link", "inline"]).default("link");

const positive = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

const query = z
  .strictObject({
    leaf_id: z.string().min(1).max(128).optional(),
    view: z.enum(["history", "raw"]).default("history"),
    order: z.enum(["asc", "desc"]).default("asc"),
    limit: limitSchema,
    cursor: placeCursorSchema.optional(),
    attachments: attachmentsSchema,
    max_bytes: positive.optional().meta({ description: "The longest recent run of at most so many bytes" }),
    max_tokens: positive.optional().meta({ description: "The longest recent run of at most so many tokens" }),
    truncate_older: positive.optional().meta({
      description:
        "For a model: tool outputs and long texts cut in all messages but the newest ones. The number is the step, in " +
        "messages, in which more of them become older: at 1 each new message makes one, at 8 what was sent before stays the " +
        "same for eight, and so does a provider's cache of it",
    }),
  })
  .refine((parameters) => parameters.max_bytes === undefined || parameters.max_tokens === undefined, {
    path: ["max_bytes"],
    message: "give max_bytes or max_tokens, and not both",
  })
  .refine(({ cursor, max_bytes: bytes, max_tokens: tokens }) => cursor === undefined || (bytes ?? tokens) === undefined, {
    path: ["cursor"],
    message: "a window has no pages: give cursor, or max_bytes or max_tokens",
  });
type Query = z.output<typeof query>;

export const historySchema = z
  .object({
    data: z.array(messageSchema),
    meta: z.array(messageMetaSchema),
    leaf_id: z.string().nullable(),
    truncated: z.boolean(),
    total_content_bytes: z.int(),
    token_estimate: z.int().meta({ description: "Of all that is read to the leaf, whatever the page or window" }),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "History" });

/** The object's refusal of a leaf is, for a read, that nothing is there. */
export function unknownLeafIs404<T>(result: Result<T, Problem>): Result<T, Problem> {
  if (result.ok || result.error.code !== "unknown_leaf") return result;
  return err(problem("not_found", "The leaf is not a message of this session.", { errors: result.error.errors ?? [] }));
}

/** Stored messages are JSON already: joined, not parsed. */
export function historyJson(sessionId: string, page: HistoryPage): string {
  const { items, ...rest } = page;
  const tail = JSON.stringify({
    meta: items.map((item) => item.meta),
    leaf_id: rest.leaf_id,
    truncated: rest.truncated,
    total_content_bytes: rest.total_content_bytes,
    token_estimate: rest.token_estimate,
    has_more: rest.next !== null,
    next_cursor: rest.next === null ? null : encodePlace(sessionId, rest.next),
  });
  return `{"data":[${items.map((item) => item.json).join(",")}],${tail.slice(1)}`;
}

/** What a page and the stream are both asked for. */
const streamQuery = ({ leaf_id, view, order, attachments, truncate_older }: Query): StreamQuery => ({
  view,
  order,
  attachments,
  ...(leaf_id === undefined ? {} : { leaf_id }),
  ...(truncate_older === undefined ? {} : { truncate_older }),
});

async function stream(c: Context<AppEnv>, id: string, parameters: Query): Promise<Response> {
  const result = await callSession(c.env, tenantOf(c), id, (session) => session.streamHistory(streamQuery(parameters)));
  if (!result.ok) return reply(c, unknownLeafIs404(result));
  return c.body(result.value, 200, { "Content-Type": "application/x-ndjson" });
}

async function page(c: Context<AppEnv>, id: string, parameters: Query): Promise<Response> {
  const { max_bytes, max_tokens, cursor, limit } = parameters;
  const place = placeOf(id, cursor);
  if (!place.ok) return reply(c, place);
  const result = await timed(c.get("timings"), "session", () =>
    callSession(c.env, tenantOf(c), id, (session) =>
      session.readHistory({
        ...streamQuery(parameters),
        limit: Math.min(limit, MAX_PAGE_LIMIT),
        ...place.value,
        ...(max_bytes === undefined ? {} : { max_bytes }),
        ...(max_tokens === undefined ? {} : { max_tokens }),
      }),
    ),
  );
  if (!result.ok) return reply(c, unknownLeafIs404(result));
  return c.body(historyJson(id, result.value), 200, { "Content-Type": "application/json" });
}

export const registerReadHistory = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/messages",
      summary: "Read the history",
      description:
        "Root to leaf, with overlays in place of what they summarise (`view=raw`: without). " +
        "`Accept: application/x-ndjson` streams all of it, a message a line.",
      tags: ["Messages"],
      request: { params: sessionParams, query },
      responses: {
        200: {
          description: "A page, or the stream",
          content: { "application/json": { schema: historySchema }, "application/x-ndjson": { schema: z.string() } },
        },
      },
    }),
    (c) => {
      const id = c.req.valid("param").session_id;
      const streamed = (c.req.header("Accept") ?? "").includes("application/x-ndjson");
      return streamed ? stream(c, id, c.req.valid("query")) : page(c, id, c.req.valid("query"));
    },
  );
