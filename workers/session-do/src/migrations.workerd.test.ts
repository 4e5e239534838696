import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { migrate } from "@sessionplane/engine/storage/sqlite/migrate";
import { MIGRATIONS } from "./migrations.ts";
import { writeSessionRow } from "./session-row.ts";
import { newRow } from "./settings.ts";
import { RULES, SETTINGS, append, message, unopened, valueOf } from "./testing/session.ts";

const tablesOf = ({ sql }: DurableObjectStorage): unknown[] =>
  sql.exec("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY name").toArray();

test("an object of any earlier version opens and goes on", async () => {
  const sinceThePlane = MIGRATIONS.slice(
    MIGRATIONS.findIndex((one) => one.id === "002_plane"),
    -1,
  );
  for (const { id } of sinceThePlane) {
    const session = unopened();
    await runInDurableObject(session.stub, (_instance, { storage }) => {
      migrate(storage, MIGRATIONS, id);
      const ids = { tenant_id: session.tenantId, session_id: session.sessionId };
      writeSessionRow(storage.sql, newRow({ ...ids, settings: SETTINGS, created_at: 1, rules: RULES }));
    });
    await evictDurableObject(session.stub);
    await append(session, [message("a")]);
    expect(valueOf(await session.rpc().describe(RULES))).toMatchObject({ message_count: 1, name: SETTINGS.name });
  }
});

test("migrating twice, or step by step, is migrating once", async () => {
  const tables = await Promise.all(
    [[], ["001_tree"], ["001_tree", "002_plane"]].map((stops) =>
      runInDurableObject(unopened().stub, (_instance, { storage }) => {
        for (const stop of stops) migrate(storage, MIGRATIONS, stop);
        migrate(storage, MIGRATIONS);
        migrate(storage, MIGRATIONS);
        return tablesOf(storage);
      }),
    ),
  );
  expect(tables[1]).toEqual(tables[0]);
  expect(tables[2]).toEqual(tables[0]);
});

test("a database of a newer version is refused", async () => {
  await runInDurableObject(unopened().stub, (_instance, { storage }) => {
    migrate(storage, [...MIGRATIONS, { id: "999_later", sql: "CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT" }]);
    expect(() => migrate(storage, MIGRATIONS)).toThrow("999_later");
  });
});
