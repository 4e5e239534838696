/** `GET /v1/prices/unpriced`: what was used and has no price. */
import * as z from "zod";
import { tenantIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { unpricedModelSchema } from "@sessionplane/shared/price";
import { reachSchema } from "@sessionplane/shared/report";
import { formatInstantOrNull } from "@sessionplane/shared/fields";
import { ok } from "@sessionplane/shared/result";
import { connect } from "../../catalog/db.ts";
import { catalogAsOf } from "../../catalog/sessions.ts";
import { eventsSince } from "../../catalog/usage-archives.ts";
import { unpricedModels } from "../../catalog/usage-events.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

const MAX_LISTED = 1_000;
const listSchema = pageOf(unpricedModelSchema).extend(reachSchema.shape).meta({ id: "UnpricedModels" });

export const registerListUnpriced = (app: App) =>
  app.openapi(
    operatorRoute("reports:read", {
      method: "get",
      path: "/v1/prices/unpriced",
      summary: "List what has no price",
      description:
        "Classes of models that were used without a price in force, the most used first; at most 1,000, and `has_more` says that there are others: price these first.",
      tags: ["Prices"],
      request: { query: z.strictObject({ tenant_id: tenantIdSchema.optional() }) },
      responses: { 200: json(listSchema, "The classes") },
    }),
    async (c) => {
      const scope = c.req.valid("query").tenant_id ?? "all_tenants";
      const db = connect(c.env.CATALOG);
      const [found, asOf, since] = await Promise.all([
        unpricedModels(db, scope, MAX_LISTED + 1),
        catalogAsOf(db, scope),
        eventsSince(db, scope),
      ]);
      const data = found.slice(0, MAX_LISTED);
      const page = { data, has_more: found.length > data.length, next_cursor: null, as_of: asOf };
      return reply(c, ok({ ...page, events_since: formatInstantOrNull(since) }));
    },
  );
