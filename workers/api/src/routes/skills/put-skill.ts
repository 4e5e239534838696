/** `PUT /v1/skills/{key}`: a new skill, or a new version of one. */
import type { Context } from "hono";
import * as z from "zod";
import { type Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import { MAX_SKILL_BYTES, skillSchema } from "@sessionplane/shared/skill";
import type { SkillDraft } from "@sessionplane/engine/context/skill-bucket";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { ifMatchMessage, versionTag } from "../../http/etag.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { readTextBody } from "../../http/text-body.ts";
import { putSkill } from "../../skill-registry.ts";
import { DESCRIPTION, anyKeyParams, descriptionOf, keyOf } from "./skill-request.ts";

const headers = z.object({
  [DESCRIPTION]: z
    .string()
    .optional()
    .meta({ description: "Text, or UTF-8'' and percent-encoded text. Absent keeps what the skill has, empty clears it" }),
});

const text = { schema: z.string() };
const body = { required: true, content: { "text/markdown": text, "text/plain": text } };

/** The cheap checks first: a document is read only for a request that could be accepted. */
async function draftOf(c: Context<AppEnv>): Promise<Result<SkillDraft, Problem>> {
  const description = descriptionOf(c.req.header(DESCRIPTION));
  if (!description.ok) return description;
  const content = await readTextBody(c, MAX_SKILL_BYTES);
  return content.ok ? ok({ content: content.value, description: description.value }) : content;
}

export const registerPutSkill = (app: App) =>
  app.openapi(
    tenantRoute("skills:write", {
      method: "put",
      path: "/v1/skills/{key}",
      summary: "Write a skill",
      description:
        "A document of at most 1 MiB. What differs from the current version is the next one; what does not changes nothing. " +
        "`If-Match` with an ETag, `If-Match: *` and `If-None-Match: *` are honoured.",
      tags: ["Skills"],
      request: { params: anyKeyParams, headers, body },
      responses: { 200: json(skillSchema, "The skill as it is now"), 201: json(skillSchema, "A new skill") },
    }),
    async (c) => {
      const key = keyOf(c.req.valid("param").key);
      if (!key.ok) return reply(c, key);
      const expected = ifMatchMessage(c);
      if (!expected.ok) return reply(c, expected);
      const draft = await draftOf(c);
      if (!draft.ok) return reply(c, draft);
      const result = await putSkill(c.env, tenantOf(c).tenantId, key.value, draft.value, expected.value.if_match);
      if (!result.ok) return reply(c, result);
      const { skill, created } = result.value;
      return reply(c, ok(skill), created ? 201 : 200, versionTag(skill));
    },
  );
