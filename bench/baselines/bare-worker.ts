/**
 * What the plane is measured against: a Hono app in front of an object that does nothing but insert a row
 * with a unique id and scan its rows, and plain D1 batches of one insert an event.
 */
import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";
import type { FactBatch } from "@sessionplane/shared/queue/fact";
import { type Stretch, batchesOf } from "../ledger/facts.ts";
import { applyFacts } from "../../workers/api/src/projection/consume-facts.ts";

type BenchEnv = { BARE: DurableObjectNamespace<BareObject>; CATALOG: D1Database; PLANE: D1Database };
type Row = { readonly id: string; readonly json: string };

export class BareObject extends DurableObject<BenchEnv> {
  constructor(ctx: DurableObjectState, env: BenchEnv) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS rows (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, json TEXT NOT NULL) STRICT",
    );
  }

  async insert(rows: readonly Row[]): Promise<number> {
    for (const { id, json } of rows) this.ctx.storage.sql.exec("INSERT INTO rows (id, json) VALUES (?, ?)", id, json);
    return rows.length;
  }

  async scan(): Promise<string> {
    const rows = this.ctx.storage.sql.exec<{ json: string }>("SELECT json FROM rows ORDER BY seq");
    return [...rows].map((row) => row.json).join("\n");
  }
}

const app = new Hono<{ Bindings: BenchEnv }>();

app.post("/rows/:name", async (c) => {
  const { messages } = await c.req.json<{ messages: { id: string }[] }>();
  const rows = messages.map((message) => ({ id: message.id, json: JSON.stringify(message) }));
  return c.json({ inserted: await c.env.BARE.getByName(c.req.param("name")).insert(rows) }, 201);
});

app.get("/rows/:name", async (c) => c.text(await c.env.BARE.getByName(c.req.param("name")).scan()));

app.post("/projection", async (c) => {
  await applyFacts(c.env.CATALOG, await c.req.json<FactBatch[]>());
  return c.json({});
});

/** Plain inserts, one an event. */
async function insertRaw(catalog: D1Database, batches: readonly FactBatch[]): Promise<void> {
  const insert = catalog.prepare("INSERT INTO raw_events (tenant, session, id, event) VALUES (?, ?, ?, ?)");
  const statements = batches.flatMap((batch) =>
    batch.facts.flatMap((fact) =>
      fact.kind === "usage" ? [insert.bind(batch.tenant_id, batch.session_id, fact.event.id, JSON.stringify(fact.event))] : [],
    ),
  );
  await catalog.batch(statements);
}

app.post("/raw", async (c) => {
  await insertRaw(c.env.CATALOG, await c.req.json<FactBatch[]>());
  return c.json({});
});

/** Events that are made here, into the plane's own catalog. */
app.post("/ledger", async (c) => {
  await applyFacts(c.env.PLANE, batchesOf(await c.req.json<Stretch>()));
  return c.json({});
});

app.post("/raw-ledger", async (c) => {
  await insertRaw(c.env.CATALOG, batchesOf(await c.req.json<Stretch>()));
  return c.json({});
});

export default app;
