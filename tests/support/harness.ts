/** All workers in one process for a test file, with real D1, queues, R2 and objects. Each file has its own. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createTestHarness } from "wrangler";

const ROOT = join(import.meta.dirname, "../..");
const configOf = (worker: string): string => join(ROOT, "workers", worker, "wrangler.jsonc");
const POLL_MS = 50;

export type Reply<T = Record<string, unknown>> = { readonly status: number; readonly body: T; readonly headers: Headers };
export type Call = <T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Reply<T>>;
export type Tenant = { readonly id: string; readonly key: string; readonly call: Call };

export const ALL_SCOPES = [
  "sessions:read",
  "sessions:write",
  "sessions:write-as-server",
  "skills:read",
  "skills:write",
  "usage:read",
  "usage:write",
];

/** What tests reach of a session's object beyond its contract. */
type FaultyObject = Rpc.DurableObjectBranded & { armFault(point: string): Promise<void> };
type SessionDoEnv = { SESSION: DurableObjectNamespace<FaultyObject>; CATALOG_EVENTS: Queue; COMPACTION_JOBS: Queue };
type ApiEnv = { CATALOG: D1Database; CONTENT: R2Bucket };

export type Plane = Awaited<ReturnType<typeof startPlane>>;

type Variables = Record<string, string>;

/** Variables of workers: of the compactor, such as the model and where it is. */
export async function startPlane(options: { readonly api?: Variables; readonly compactor?: Variables } = {}) {
  const operatorKey = `spo_${randomBytes(32).toString("base64url")}`;
  const server = createTestHarness({
    workers: [
      { configPath: configOf("api"), vars: { KEY_CACHE_MS: "300", ...options.api }, secrets: { OPERATOR_KEY: operatorKey } },
      { configPath: configOf("session-do"), vars: { FAULT_POINTS: "on" } },
      { configPath: configOf("tenant-do") },
      { configPath: configOf("compactor"), vars: options.compactor ?? {} },
    ],
  });
  const { url } = await server.listen();
  const api = server.getWorker<ApiEnv>();
  const sessionDo = server.getWorker<SessionDoEnv>("sessionplane-session-do");
  await api.applyD1Migrations("CATALOG");

  const caller =
    (key: string | null): Call =>
    async (method, path, body, headers = {}) => {
      const raw = typeof body === "string" || body instanceof Uint8Array;
      const response = await fetch(new URL(path, url), {
        method,
        headers: {
          ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
      });
      // A stream of events has no end: that it has begun is all there is to know here.
      const isEndless = response.headers.get("Content-Type") === "text/event-stream";
      if (isEndless) await response.body?.cancel();
      const text = isEndless ? "" : await response.text();
      const isJson = /[/+]json$/.test((response.headers.get("Content-Type") ?? "").split(";")[0] ?? "") && text !== "";
      return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
    };

  const operator = caller(operatorKey);

  return {
    url,
    operatorKey,
    operator,
    caller,
    close: () => server.close(),

    async tenant(settings: object = {}, scopes: readonly string[] = ALL_SCOPES): Promise<Tenant> {
      const tenant = await operator<{ id: string }>("POST", "/v1/tenants", { name: "acme", settings });
      const { body } = await operator<{ key: string }>("POST", `/v1/tenants/${tenant.body.id}/keys`, { name: "app", scopes });
      return { id: tenant.body.id, key: body.key, call: caller(body.key) };
    },

    async session(tenant: Tenant, input: object = {}): Promise<string> {
      const { body } = await tenant.call<{ id: string }>("POST", "/v1/sessions", input);
      return body.id;
    },

    /** The session's object dies at this point, once. */
    async armFault(tenant: Tenant, session: string, point: string): Promise<void> {
      const { SESSION } = await sessionDo.getEnv();
      await SESSION.getByName(`${tenant.id}:${session}`).armFault(point);
    },

    async evict(tenant: Tenant, session: string): Promise<void> {
      await sessionDo.evictDurableObject("SESSION", { name: `${tenant.id}:${session}` });
    },

    async objectRows<T>(tenant: Tenant, session: string, sql: string): Promise<T[]> {
      const storage = await sessionDo.getDurableObjectStorage("SESSION", { name: `${tenant.id}:${session}` });
      return (await storage.exec(sql)) as T[];
    },

    /** Statements in the database of the tenant's search object. */
    async inSearch(tenant: Tenant, ...statements: string[]): Promise<void> {
      const tenantDo = server.getWorker("sessionplane-tenant-do");
      const storage = await tenantDo.getDurableObjectStorage("TENANT_SEARCH", { name: tenant.id });
      for (const sql of statements) await storage.exec(sql);
    },

    async sendFacts(message: unknown): Promise<void> {
      await (await sessionDo.getEnv()).CATALOG_EVENTS.send(message);
    },

    async sendWakeUp(message: unknown): Promise<void> {
      await (await sessionDo.getEnv()).COMPACTION_JOBS.send(message);
    },

    async catalog<T>(sql: string, ...values: unknown[]): Promise<T[]> {
      const { CATALOG } = await api.getEnv();
      return (
        await CATALOG.prepare(sql)
          .bind(...values)
          .all<T>()
      ).results;
    },

    /** What R2 holds under a prefix. */
    async contentKeys(prefix: string): Promise<string[]> {
      const { CONTENT } = await api.getEnv();
      return (await CONTENT.list({ prefix })).objects.map((object) => object.key);
    },

    /** An object of R2, as it is stored. */
    async content(key: string): Promise<Buffer> {
      const { CONTENT } = await api.getEnv();
      const object = await CONTENT.get(key);
      if (object === null) throw new Error(`R2 holds no ${key}`);
      return Buffer.from(await object.arrayBuffer());
    },

    async putContent(key: string, bytes: Uint8Array): Promise<void> {
      const { CONTENT } = await api.getEnv();
      await CONTENT.put(key, bytes);
    },

    /** What the platform's clock does every few minutes. */
    async sweep(): Promise<void> {
      await api.scheduled({ cron: "*/5 * * * *", scheduledTime: new Date() });
    },

    async addPrices(provider: string, model: string, prices: Record<string, string>): Promise<void> {
      for (const [name, usd] of Object.entries(prices)) {
        await operator("POST", "/v1/prices", {
          provider,
          model,
          class: name,
          usd_per_million: usd,
          effective_from: "2020-01-01T00:00:00.000Z",
        });
      }
    },
  };
}

/** The value once it is there: asks again until `find` gives one, or fails with what was waited for. */
export async function until<T>(what: string, find: () => Promise<T | null | undefined | false>, timeoutMs = 30_000): Promise<T> {
  for (const deadline = Date.now() + timeoutMs; ;) {
    const found = await find();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

export const text = (id: string, role: "user" | "assistant", content: string) => ({
  id,
  role,
  parts: [{ type: "text", text: content }],
});
