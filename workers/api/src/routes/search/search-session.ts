/** `GET /v1/sessions/{session_id}/search`: exact at once, since the session's own object answers. */
import * as z from "zod";
import { pageOf } from "@sessionplane/shared/page";
import { fieldProblem } from "@sessionplane/shared/problem";
import { err, ok } from "@sessionplane/shared/result";
import { searchHitSchema } from "@sessionplane/shared/search";
import { tenantOf } from "../../http/authenticate.ts";
import { cursorSchema, encodeCursor } from "../../http/cursor.ts";
import { flagSchema, now } from "../../http/list-query.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { unknownLeafIs404 } from "../messages/read-history.ts";
import { filterOf, searchParameters } from "./search-query.ts";

const query = z
  .strictObject({
    ...searchParameters,
    cursor: cursorSchema(z.tuple([z.string(), z.number(), z.int()])).optional(),
    on_active_path: flagSchema.meta({ description: "1: only messages on the path to the active leaf" }),
    leaf_id: z.string().min(1).max(128).optional().meta({ description: "Only messages on the path to this one" }),
  })
  .refine((parameters) => parameters.leaf_id === undefined || !parameters.on_active_path, {
    path: ["leaf_id"],
    message: "give leaf_id or on_active_path, and not both",
  });

export const registerSearchSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/search",
      summary: "Search a session",
      description:
        "Messages of every branch, the best match first. English words are found in all their forms, Chinese, " +
        "Japanese, Korean and Thai by any part of a sentence. A page goes on by score: what is written meanwhile moves scores.",
      tags: ["Search"],
      request: { params: sessionParams, query },
      responses: { 200: json(pageOf(searchHitSchema), "A page") },
    }),
    async (c) => {
      const id = c.req.valid("param").session_id;
      const parameters = c.req.valid("query");
      const { q, limit, cursor, on_active_path, leaf_id: leaf } = parameters;
      const [session, score = 0, seq = 0] = cursor ?? [];
      if (session !== undefined && session !== id) {
        return reply(c, err(fieldProblem("invalid", "?cursor", "is another session's")));
      }
      const result = await callSession(c.env, tenantOf(c), id, (session) =>
        session.search({
          ...filterOf(parameters),
          ...{ q, limit, on_active_path },
          ...(leaf !== undefined && { leaf_id: leaf }),
          ...(cursor !== undefined && { after: { score, seq } }),
        }),
      );
      if (!result.ok) return reply(c, unknownLeafIs404(result));
      const { hits, next } = result.value;
      const nextCursor = next === null ? null : encodeCursor([id, next.score, next.seq]);
      return reply(c, ok({ data: hits, has_more: next !== null, next_cursor: nextCursor, as_of: now() }));
    },
  );
