/** `DELETE /v1/skills/{key}`: the skill and every version of it. */
import { tenantOf } from "../../http/authenticate.ts";
import { ifMatch } from "../../http/etag.ts";
import { problemReply } from "../../http/problems.ts";
import { type App, tenantRoute } from "../../http/routes.ts";
import { deleteSkill } from "../../skill-registry.ts";
import { skillParams } from "./skill-request.ts";

export const registerDeleteSkill = (app: App) =>
  app.openapi(
    tenantRoute("skills:write", {
      method: "delete",
      path: "/v1/skills/{key}",
      summary: "Delete a skill",
      description: "With all of its versions, whose numbers are not used again. `If-Match` is honoured.",
      tags: ["Skills"],
      request: { params: skillParams },
      responses: { 204: { description: "Deleted" } },
    }),
    async (c) => {
      const expected = ifMatch(c);
      if (!expected.ok) return problemReply(c, expected.error);
      const { key } = c.req.valid("param");
      const result = await deleteSkill(c.env, tenantOf(c).tenantId, key, expected.value);
      return result.ok ? c.body(null, 204) : problemReply(c, result.error);
    },
  );
