/** `GET /v1/health` and `GET /v1/ready`, without a key. */
import * as z from "zod";
import { newId } from "@sessionplane/shared/ids";
import { ok } from "@sessionplane/shared/result";
import { connect } from "../../catalog/db.ts";
import { listSkills } from "../../catalog/skills.ts";
import { listTenants } from "../../catalog/tenants.ts";
import type { ApiEnv } from "../../env.ts";
import { type App, json, publicRoute, reply } from "../../http/routes.ts";
import { logError } from "../../log.ts";
import { callObject } from "../../session-client.ts";
import { DEFAULT_TENANT_SETTINGS } from "@sessionplane/shared/tenant";

const healthSchema = z.object({ status: z.literal("ok") }).meta({ id: "Health" });
const readySchema = z
  .object({ status: z.enum(["ready", "not_ready"]), parts: z.record(z.string(), z.enum(["ok", "failed"])) })
  .meta({ id: "Ready" });

/** The oldest table and one of the last migration's: migrations are part of being ready. */
async function probeCatalog({ CATALOG }: ApiEnv): Promise<void> {
  const db = connect(CATALOG);
  await listTenants(db, { limit: 1, order: "desc", createdAt: {} });
  await listSkills(db, newId("tenant"), { limit: 1, order: "asc", prefix: "" });
}

/** One look at each binding. */
const PROBES: Record<string, (env: ApiEnv) => Promise<unknown>> = {
  catalog: probeCatalog,
  content: (env) => env.CONTENT.head("ready"),
  // An id that nobody has: the object answers that it holds nothing, and keeps nothing.
  sessions: (env) => callObject(env, newId("tenant"), newId("session"), (session) => session.describe(DEFAULT_TENANT_SETTINGS)),
};

async function probe(name: string, env: ApiEnv): Promise<readonly [string, "ok" | "failed"]> {
  try {
    await PROBES[name]?.(env);
    return [name, "ok"];
  } catch (error) {
    logError("not_ready", error, { part: name });
    return [name, "failed"];
  }
}

export const registerHealth = (app: App) =>
  app.openapi(
    publicRoute({
      method: "get",
      path: "/v1/health",
      summary: "Say that the worker runs",
      tags: ["Plane"],
      responses: { 200: json(healthSchema, "It runs") },
    }),
    (c) => reply(c, ok({ status: "ok" })),
  );

export const registerReady = (app: App) =>
  app.openapi(
    publicRoute({
      method: "get",
      path: "/v1/ready",
      summary: "Look at every binding",
      tags: ["Plane"],
      responses: { 200: json(readySchema, "Ready"), 503: json(readySchema, "A part is not") },
    }),
    async (c) => {
      const parts = Object.fromEntries(await Promise.all(Object.keys(PROBES).map((name) => probe(name, c.env))));
      const ready = Object.values(parts).every((part) => part === "ok");
      return c.body(JSON.stringify({ status: ready ? "ready" : "not_ready", parts }), ready ? 200 : 503, {
        "Content-Type": "application/json",
      });
    },
  );
