/** `POST /v1/sessions/import`: a session of NDJSON, our own or a transcript of another's. */
import * as z from "zod";
import { problem } from "@sessionplane/shared/problem";
import { err, ok } from "@sessionplane/shared/result";
import { sessionSchema } from "@sessionplane/shared/session";
import { type Unmapped, TRANSCRIPT_FORMATS } from "@sessionplane/engine/transfer/transcript";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { keepReply, resourceId } from "../../http/idempotency.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { readLines } from "../../transfer/read-lines.ts";
import { readTranscript } from "../../transfer/read-transcript.ts";
import { receive } from "../../transfer/receive.ts";
import { settingsOfImport } from "../../transfer/settings.ts";

const query = z.strictObject({
  format: z
    .enum(["sessionplane", ...TRANSCRIPT_FORMATS])
    .default("sessionplane")
    .meta({
      description: "`sessionplane`: what an export gives. Else a transcript, one message a line, which become one branch",
    }),
});

const importedSchema = sessionSchema
  .extend({
    imported: z.object({
      messages: z.int(),
      overlays: z.int(),
      unmapped: z
        .array(z.object({ line: z.int(), what: z.string() }))
        .meta({ description: "What of a transcript has no place in a message, at most 100" }),
    }),
  })
  .meta({ id: "ImportedSession" });

const BODY = { required: true, content: { "application/x-ndjson": { schema: z.string() } } };
const WRONG_TYPE = problem("unsupported_media_type", "Send application/x-ndjson: one JSON object a line.");
const EMPTY = problem("import_refused", "There is no line in the body.");

export const registerImportSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "post",
      path: "/v1/sessions/import",
      summary: "Import a session",
      description:
        "Streamed, in any order of lines. All of it or nothing: the first line that is wrong, an unknown parent or a circle " +
        "refuses the import with the line's number.",
      tags: ["Transfer"],
      middleware: keepReply(),
      request: { query, body: BODY },
      responses: { 201: json(importedSchema, "The session") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { format } = c.req.valid("query");
      if (!(c.req.header("Content-Type") ?? "").startsWith("application/x-ndjson")) return reply(c, err(WRONG_TYPE));
      const { body } = c.req.raw;
      if (body === null) return reply(c, err(EMPTY));
      const unmapped: Unmapped[] = [];
      const lines = format === "sessionplane" ? readLines(body) : readTranscript(body, format, unmapped);
      const made = await receive(c.env, tenant, resourceId(c, "session"), lines, settingsOfImport);
      if (!made.ok) return reply(c, made);
      const { session, ...counts } = made.value;
      return reply(c, ok({ ...session, imported: { ...counts, unmapped } }), 201, etagOf(session));
    },
  );
