/**
 * `GET /v1/search`: over all of a tenant's sessions. The tenant's index finds, seconds behind; the sessions
 * show what was found as it is now. Another tenant's sessions are in another object.
 */
import * as z from "zod";
import { formatInstantOrNull } from "@sessionplane/shared/fields";
import { sessionIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { searchHitSchema } from "@sessionplane/shared/search";
import { tenantOf } from "../../http/authenticate.ts";
import { cursorSchema, encodeCursor } from "../../http/cursor.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { searchIndex } from "../../search-client.ts";
import { filterOf, searchParameters } from "./search-query.ts";
import { showHits } from "./show-hits.ts";

const query = z.strictObject({
  ...searchParameters,
  cursor: cursorSchema(z.tuple([z.number(), z.int()])).optional(),
  session_id: sessionIdSchema.optional().meta({ description: "Only in this session" }),
});

const pageSchema = pageOf(searchHitSchema)
  .extend({
    complete_through: z.array(z.object({ session_id: z.string(), seq: z.int() })).meta({
      description: "For the sessions of this page and the one asked for: the place of its log that the index has reached",
    }),
  })
  .meta({ id: "TenantSearchPage" });

export const registerSearchTenant = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/search",
      summary: "Search all sessions",
      description:
        "As the search of one session, over all of them; of a message over 12,000 characters the beginning is found. New " +
        "texts are found seconds later: `complete_through` says up to which message. Hits whose message was deleted meanwhile are left out.",
      tags: ["Search"],
      request: { query },
      responses: { 200: json(pageSchema, "A page") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const parameters = c.req.valid("query");
      const { q, limit, cursor, session_id: session } = parameters;
      const [score = 0, doc = 0] = cursor ?? [];
      const page = await searchIndex(c.env, tenant.tenantId, {
        ...filterOf(parameters),
        ...{ q, limit },
        ...(session !== undefined && { session_id: session }),
        ...(cursor !== undefined && { after: { score, doc } }),
      });
      const hits = await showHits(c.env, tenant, q, page.hits);
      if (!hits.ok) return reply(c, hits);
      const { next, complete_through, applied_at: at } = page;
      return reply(
        c,
        ok({
          data: hits.value,
          has_more: next !== null,
          next_cursor: next === null ? null : encodeCursor([next.score, next.doc]),
          as_of: formatInstantOrNull(at),
          complete_through,
        }),
      );
    },
  );
