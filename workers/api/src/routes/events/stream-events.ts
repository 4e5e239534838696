/** `GET /v1/sessions/{session_id}/events`: what happens in a session, as server-sent events or over a WebSocket. */
import type { Context } from "hono";
import * as z from "zod";
import { layerPolicies } from "@sessionplane/shared/compaction-policy";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf } from "../../http/principal.ts";
import { type App, reply, tenantRoute } from "../../http/routes.ts";
import { callSession, connectSession } from "../../session-client.ts";

const place = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const query = z.strictObject({
  after: place
    .optional()
    .meta({ description: "Where to begin in the session's log; 0: with everything. Absent: with what comes next" }),
});

/** `Last-Event-ID`, as a browser sends it when it comes back, before `after`. */
function placeOf(c: Context<AppEnv>, after: number | undefined): Result<number | undefined, Problem> {
  const header = c.req.header("Last-Event-ID");
  if (header === undefined || header === "") return ok(after);
  const parsed = place.safeParse(header);
  return parsed.success ? ok(parsed.data) : err(fieldProblem("invalid", "Last-Event-ID", "is not an id that this stream gave"));
}

async function upgrade(c: Context<AppEnv>, id: string, after: number | undefined): Promise<Response> {
  const tenant = tenantOf(c);
  const describe = () => callSession(c.env, tenant, id, (session) => session.describe(rulesOf(tenant)));
  const described = await describe();
  if (!described.ok) return reply(c, described);
  const { threshold } = layerPolicies(tenant.settings.compaction, described.value.compaction.policy);
  const connected = await connectSession(c.env, tenant, id, { threshold, ...(after === undefined ? {} : { after }) });
  return connected ?? reply(c, await describe());
}

export const registerStreamEvents = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/events",
      summary: "Listen to a session",
      description:
        "Server-sent events: `append`, `update`, `delete`, `clear`, `leaf`, `usage`, `compact`, `compaction`, `import`, each " +
        "with its number as id; `Last-Event-ID` goes on after it. With `Upgrade: websocket` the same as frames, and the " +
        "session's status after each write. A stream keeps the session's object awake, a WebSocket does not.",
      tags: ["Events"],
      request: { params: sessionParams, query },
      responses: {
        200: { description: "A stream without an end", content: { "text/event-stream": { schema: z.string() } } },
        101: { description: "A WebSocket" },
      },
    }),
    async (c) => {
      const id = c.req.valid("param").session_id;
      const after = placeOf(c, c.req.valid("query").after);
      if (!after.ok) return reply(c, after);
      if (c.req.header("Upgrade")?.toLowerCase() === "websocket") return upgrade(c, id, after.value);
      const from = after.value === undefined ? {} : { after: after.value };
      const result = await callSession(c.env, tenantOf(c), id, (session) => session.streamEvents(from));
      if (!result.ok) return reply(c, result);
      return c.body(result.value, 200, {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
      });
    },
  );
