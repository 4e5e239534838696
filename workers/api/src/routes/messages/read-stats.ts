/** `GET /v1/sessions/{session_id}/stats`: what each message of a path weighs, without content. */
import * as z from "zod";
import { messageStatsSchema } from "@sessionplane/shared/message";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { encodePlace, placeCursorSchema, placeOf } from "../../http/cursor.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { unknownLeafIs404 } from "./read-history.ts";

/** Rows without content are small. */
const MAX_ROWS = 1_000;

const query = z.strictObject({
  leaf_id: z.string().min(1).max(128).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(MAX_ROWS),
  cursor: placeCursorSchema.optional(),
});

const statsSchema = z
  .object({
    data: z.array(messageStatsSchema),
    leaf_id: z.string().nullable(),
    totals: z
      .object({ messages: z.int(), bytes: z.int(), token_estimate: z.int() })
      .nullable()
      .meta({ description: "Of the whole path; on the first page alone" }),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "PathStats" });

export const registerReadStats = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/stats",
      summary: "Weigh a path",
      description: "Bytes and estimated tokens of each message from root to leaf, overlays not applied, and their totals.",
      tags: ["Messages"],
      request: { params: sessionParams, query },
      responses: { 200: json(statsSchema, "A page") },
    }),
    async (c) => {
      const { leaf_id: leafId, limit, cursor } = c.req.valid("query");
      const id = c.req.valid("param").session_id;
      const place = placeOf(id, cursor);
      if (!place.ok) return reply(c, place);
      const result = await callSession(c.env, tenantOf(c), id, (session) =>
        session.readStats({
          limit,
          ...(leafId === undefined ? {} : { leaf_id: leafId }),
          ...place.value,
        }),
      );
      if (!result.ok) return reply(c, unknownLeafIs404(result));
      const { items, leaf_id, totals, next } = result.value;
      const page = {
        data: items,
        leaf_id,
        totals,
        has_more: next !== null,
        next_cursor: next === null ? null : encodePlace(id, next),
      };
      return reply(c, ok(page));
    },
  );
