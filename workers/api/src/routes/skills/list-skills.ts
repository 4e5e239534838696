/** `GET /v1/skills`: from the catalog, by key. */
import * as z from "zod";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { skillSchema } from "@sessionplane/shared/skill";
import { connect } from "../../catalog/db.ts";
import { listSkills } from "../../catalog/skills.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { cursorSchema } from "../../http/cursor.ts";
import { limitSchema, now, orderSchema, pageFrom } from "../../http/list-query.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";

const query = z.strictObject({
  limit: limitSchema,
  order: orderSchema.default("asc"),
  cursor: cursorSchema(z.tuple([z.string().max(200)])).optional(),
  prefix: z.string().max(200).default("").meta({ description: "What the key begins with" }),
});

export const registerListSkills = (app: App) =>
  app.openapi(
    tenantRoute("skills:read", {
      method: "get",
      path: "/v1/skills",
      summary: "List skills",
      tags: ["Skills"],
      request: { query },
      responses: { 200: json(pageOf(skillSchema), "A page, by key") },
    }),
    async (c) => {
      const { limit, order, cursor: [after] = [], prefix } = c.req.valid("query");
      const rows = await listSkills(connect(c.env.CATALOG), tenantOf(c).tenantId, { limit, order, after, prefix });
      return reply(c, ok(pageFrom(rows, limit, (skill) => [skill.key], now())));
    },
  );
