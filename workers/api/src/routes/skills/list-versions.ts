/** `GET /v1/skills/{key}/versions`: exact, from R2. */
import * as z from "zod";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { skillSchema } from "@sessionplane/shared/skill";
import { tenantOf } from "../../http/authenticate.ts";
import { cursorSchema } from "../../http/cursor.ts";
import { limitSchema, now, pageFrom } from "../../http/list-query.ts";
import { foundOr404 } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { readSkills } from "../../skill-registry.ts";
import { skillParams } from "./skill-request.ts";

const query = z.strictObject({ limit: limitSchema, cursor: cursorSchema(z.tuple([z.int().min(1)])).optional() });

export const registerListSkillVersions = (app: App) =>
  app.openapi(
    tenantRoute("skills:read", {
      method: "get",
      path: "/v1/skills/{key}/versions",
      summary: "List a skill's versions",
      tags: ["Skills"],
      request: { params: skillParams, query },
      responses: { 200: json(pageOf(skillSchema), "A page, newest first") },
    }),
    async (c) => {
      const { key } = c.req.valid("param");
      const { limit, cursor: [before] = [] } = c.req.valid("query");
      const found = await readSkills(c.env, tenantOf(c).tenantId, (skills) => skills.versions(key, { limit: limit + 1, before }));
      const versions = foundOr404(found);
      if (!versions.ok) return reply(c, versions);
      return reply(c, ok(pageFrom(versions.value, limit, (skill) => [skill.version], now())));
    },
  );
