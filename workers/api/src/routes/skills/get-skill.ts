/** `GET /v1/skills/{key}`: the document, or all that is known of it as JSON. Never shown in place by a browser. */
import type { Context } from "hono";
import * as z from "zod";
import { ok } from "@sessionplane/shared/result";
import { type SkillDocument, skillDocumentSchema } from "@sessionplane/shared/skill";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { matchesNone, versionTag } from "../../http/etag.ts";
import { foundOr404 } from "../../http/params.ts";
import { type App, reply, tenantRoute } from "../../http/routes.ts";
import { encodeTextHeader } from "../../http/text-header.ts";
import { readSkills } from "../../skill-registry.ts";
import { DESCRIPTION, skillParams } from "./skill-request.ts";

const query = z.strictObject({
  version: z.coerce.number().int().min(1).optional().meta({ description: "Which version; the current one without it" }),
});

/** One tag for both forms: a version never changes in either. */
const cachingOf = (skill: SkillDocument) => ({ ...versionTag(skill), Vary: "Accept", "Cache-Control": "private, no-cache" });

const documentHeaders = ({ version, description }: SkillDocument): Record<string, string> => ({
  "Content-Type": "text/markdown; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; sandbox",
  "Skill-Version": String(version),
  ...(description === null ? {} : { [DESCRIPTION]: encodeTextHeader(description) }),
});

function send(c: Context<AppEnv>, skill: SkillDocument): Response {
  const caching = cachingOf(skill);
  if (matchesNone(c.req.header("If-None-Match"), caching.ETag)) return c.body(null, 304, caching);
  if ((c.req.header("Accept") ?? "").includes("application/json")) return reply(c, ok(skill), 200, caching);
  return c.body(skill.content, 200, { ...caching, ...documentHeaders(skill) });
}

export const registerGetSkill = (app: App) =>
  app.openapi(
    tenantRoute("skills:read", {
      method: "get",
      path: "/v1/skills/{key}",
      summary: "Get a skill",
      description: "The document; with `Accept: application/json` the skill with its content.",
      tags: ["Skills"],
      request: { params: skillParams, query },
      responses: {
        200: {
          description: "The document",
          content: { "text/markdown": { schema: z.string() }, "application/json": { schema: skillDocumentSchema } },
        },
        304: { description: "Unchanged" },
      },
    }),
    async (c) => {
      const { key } = c.req.valid("param");
      const { version } = c.req.valid("query");
      const found = await readSkills(c.env, tenantOf(c).tenantId, (skills) =>
        version === undefined ? skills.read(key) : skills.readVersion(key, version),
      );
      const skill = foundOr404(found);
      return skill.ok ? send(c, skill.value) : reply(c, skill);
    },
  );
