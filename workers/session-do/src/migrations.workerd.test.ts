import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { migrate } from "@sessionplane/engine/storage/sqlite/migrate";
import { MIGRATIONS } from "./migrations.ts";
import { RULES, SETTINGS, append, message, unopened, valueOf } from "./testing/session.ts";

const tablesOf = ({ sql }: DurableObjectStorage): unknown[] =>
  sql.exec("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY name").toArray();

const COLUMNS_OF_A_SESSION: Record<string, string | number> = {
  only: 1,
  settings: JSON.stringify(SETTINGS),
  status: "active",
};

/** A row of the session as any version wrote it: every column that it had. */
function writeOldRow({ sql }: DurableObjectStorage, ids: Record<string, string>): void {
  const columns = sql.exec<{ name: string; type: string; notnull: number }>(
    "SELECT name, type, \"notnull\" FROM pragma_table_info('session')",
  );
  const row = columns.toArray().map(({ name, type, notnull }) => ({
    name,
    value: { ...COLUMNS_OF_A_SESSION, ...ids }[name] ?? (notnull === 0 ? null : type === "TEXT" ? "" : 1),
  }));
  const names = row.map(({ name }) => name).join(", ");
  sql.exec(`INSERT INTO session (${names}) VALUES (${row.map(() => "?").join(", ")})`, ...row.map(({ value }) => value));
}

/** Two messages as the first version wrote them. */
function writeOldMessages({ sql }: DurableObjectStorage): void {
  for (const seq of [2, 3]) {
    const json = JSON.stringify(message(`old${seq}`));
    sql.exec(
      "INSERT INTO messages VALUES (?, ?, 'user', 1, 10, ?, 80, ?, ?, NULL, 0, ?)",
      seq,
      `old${seq}`,
      seq * 10 - 10,
      80,
      seq - 1,
      json,
    );
  }
  sql.exec("INSERT INTO runs VALUES (2, 0)");
}

test("an object of any earlier version opens with what it holds and goes on", async () => {
  const sinceThePlane = MIGRATIONS.slice(
    MIGRATIONS.findIndex((one) => one.id === "002_plane"),
    -1,
  );
  for (const { id } of sinceThePlane) {
    const session = unopened();
    await runInDurableObject(session.stub, (_instance, { storage }) => {
      migrate(storage, MIGRATIONS, id);
      writeOldRow(storage, { tenant_id: session.tenantId, session_id: session.sessionId });
      writeOldMessages(storage);
    });
    await evictDurableObject(session.stub);
    await append(session, [message("a")]);
    expect(valueOf(await session.rpc().describe(RULES))).toMatchObject({ message_count: 3, name: SETTINGS.name });
    const { items } = valueOf(await session.rpc().readHistory({ view: "raw", order: "asc", limit: 9 }));
    expect(items.map((item) => item.meta.id)).toEqual(["old2", "old3", "a"]);
    valueOf(await session.rpc().chooseLeaf({ leaf_id: "old2" }));
    await append(session, [message("b")]);
    const { items: branch } = valueOf(await session.rpc().readHistory({ view: "raw", order: "asc", limit: 9 }));
    expect(branch.map((item) => item.meta.id)).toEqual(["old2", "b"]);
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
