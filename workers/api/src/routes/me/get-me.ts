/** `GET /v1/me`: who the key is. */
import * as z from "zod";
import { ok } from "@sessionplane/shared/result";
import { principalOf } from "../../http/authenticate.ts";
import { MAX_JSON_BYTES } from "../../http/body.ts";
import { type App, anyKeyRoute, json, reply } from "../../http/routes.ts";

const meSchema = z
  .object({
    kind: z.enum(["operator", "tenant"]),
    key_id: z.string(),
    tenant_id: z.string().nullable(),
    scopes: z.array(z.string()),
    limits: z.object({ json_body_bytes: z.int() }),
  })
  .meta({ id: "Me" });

export const registerGetMe = (app: App) =>
  app.openapi(
    anyKeyRoute({
      method: "get",
      path: "/v1/me",
      summary: "Say who the key is",
      tags: ["Keys"],
      responses: { 200: json(meSchema, "Kind, tenant, scopes, limits") },
    }),
    (c) => {
      const principal = principalOf(c);
      const tenantId = principal.kind === "tenant" ? principal.tenantId : null;
      const limits = { json_body_bytes: MAX_JSON_BYTES };
      return reply(
        c,
        ok({ kind: principal.kind, key_id: principal.keyId, tenant_id: tenantId, scopes: principal.scopes, limits }),
      );
    },
  );
