/**
 * `GET /v1/attachments/{attachment_id}` and its `…/meta`: the bytes that left a message. They are a session's
 * own, so a link names the session. Never shown in place: a browser must not run what a user uploaded.
 */
import type { Context } from "hono";
import * as z from "zod";
import { attachmentIdSchema, sessionIdSchema } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import type { AttachmentContent } from "@sessionplane/shared/rpc/session-rpc";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { matchesNone } from "../../http/etag.ts";
import { byteRange } from "../../http/byte-range.ts";
import { problemReply } from "../../http/problems.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

const params = z.object({ attachment_id: attachmentIdSchema });
const query = z.strictObject({
  session_id: sessionIdSchema,
  media_type: z.string().max(200).default("").meta({ description: "Which of the types under which the bytes came" }),
});

type Named = { readonly id: string; readonly sessionId: string; readonly mediaType: string };

const find = (c: Context<AppEnv>, { id, sessionId, mediaType }: Named): Promise<Result<AttachmentContent, Problem>> =>
  callSession(c.env, tenantOf(c), sessionId, (session) => session.getAttachment({ id, media_type: mediaType }));

/** What a header may hold; anything else is bytes of no type. */
const safeType = (mediaType: string): string => (/^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? mediaType : "application/octet-stream");

const headersOf = ({ media_type: mediaType, sha256 }: AttachmentContent): Record<string, string> => ({
  "Content-Type": safeType(mediaType),
  "Content-Disposition": "attachment",
  "Content-Security-Policy": "default-src 'none'; sandbox",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "private, max-age=31536000, immutable",
  "Accept-Ranges": "bytes",
  ETag: `"${sha256}"`,
});

type Slice = { readonly offset: number; readonly length: number };

/** The bytes of a slice; null when they are no longer there. */
async function bodyOf(c: Context<AppEnv>, { content }: AttachmentContent, { offset, length }: Slice) {
  if (content.kind === "bytes") return content.bytes.slice(offset, offset + length);
  const object = await c.env.CONTENT.get(content.key, { range: { offset, length } });
  return object === null ? null : object.body;
}

async function send(c: Context<AppEnv>, attachment: AttachmentContent): Promise<Response> {
  const headers = headersOf(attachment);
  if (matchesNone(c.req.header("If-None-Match"), headers["ETag"] ?? "")) return c.body(null, 304, headers);
  const isOther = !matchesNone(c.req.header("If-Range") ?? "*", headers["ETag"] ?? "");
  const range = isOther ? null : byteRange(c.req.header("Range"), attachment.bytes);
  if (range === "unsatisfiable") {
    c.header("Content-Range", `bytes */${attachment.bytes}`);
    return problemReply(c, problem("range_not_satisfiable", `The attachment has ${attachment.bytes} bytes.`));
  }
  const slice = range ?? { offset: 0, length: attachment.bytes };
  const body = await bodyOf(c, attachment, slice);
  if (body === null) return problemReply(c, NOT_FOUND);
  const length = { "Content-Length": String(slice.length) };
  if (range === null) return c.body(body, 200, { ...headers, ...length });
  const end = slice.offset + slice.length - 1;
  return c.body(body, 206, { ...headers, ...length, "Content-Range": `bytes ${slice.offset}-${end}/${attachment.bytes}` });
}

const bytesReply = (description: string) => ({ description, content: { "application/octet-stream": { schema: z.string() } } });

export const registerGetAttachment = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/attachments/{attachment_id}",
      summary: "Get an attachment",
      description: "The bytes that a link in a message names. `Range` gives a part.",
      tags: ["Attachments"],
      request: { params, query },
      responses: { 200: bytesReply("The bytes"), 206: bytesReply("A part"), 304: { description: "Unchanged" } },
    }),
    async (c) => {
      const { session_id: sessionId, media_type: mediaType } = c.req.valid("query");
      const found = await find(c, { id: c.req.valid("param").attachment_id, sessionId, mediaType });
      return found.ok ? send(c, found.value) : problemReply(c, found.error);
    },
  );

const metaSchema = z
  .object({ id: z.string(), session_id: z.string(), media_type: z.string(), bytes: z.int(), sha256: z.string() })
  .meta({ id: "Attachment" });

export const registerGetAttachmentMeta = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/attachments/{attachment_id}/meta",
      summary: "Describe an attachment",
      tags: ["Attachments"],
      request: { params, query },
      responses: { 200: json(metaSchema, "What is known of it") },
    }),
    async (c) => {
      const { session_id: sessionId, media_type: mediaType } = c.req.valid("query");
      const id = c.req.valid("param").attachment_id;
      const found = await find(c, { id, sessionId, mediaType });
      if (!found.ok) return reply(c, found);
      const { media_type, bytes, sha256 } = found.value;
      return reply(c, ok({ id, session_id: sessionId, media_type, bytes, sha256 }));
    },
  );
