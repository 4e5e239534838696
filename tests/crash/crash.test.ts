import { readFileSync, readdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { caller, provisionTenant } from "../../scripts/demo/client.ts";
import { type Plane, freePort, startPlane } from "../../scripts/plane.ts";
import { text, until } from "../support/harness.ts";

const folder = mkdtempSync(join(tmpdir(), "sessionplane-crash-"));
const planes: Plane[] = [];
afterAll(async () => {
  for (const plane of planes) await plane.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<Plane> {
  const plane = await startPlane({ port: await freePort(), state: join(folder, "state"), log: join(folder, "wrangler.log") });
  planes.push(plane);
  return plane;
}

/** Kills every process of the plane's group at once, without a word: by parent pid, never by name. */
function killHard(plane: Plane): void {
  const parents = new Map(
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          return [[Number(name), Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, "utf8"))?.[1])] as const];
        } catch {
          return [];
        }
      }),
  );
  const family = new Set([plane.process.pid ?? -1]);
  for (let grew = true; grew;) {
    grew = false;
    for (const [pid, parent] of parents) {
      if (!family.has(parent) || family.has(pid)) continue;
      family.add(pid);
      grew = true;
    }
  }
  for (const pid of family) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It was gone already.
    }
  }
}

const WRITERS = 4;

describe("a plane that is killed in the middle of an import", () => {
  test.skipIf(process.platform !== "linux")("has everything that it acknowledged, and its catalog catches up", async () => {
    const first = await start();
    const tenant = await provisionTenant(caller(first.url, first.operatorKey), first.url, "crash", {});
    const { key } = await caller(first.url, first.operatorKey)<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, {
      name: "after",
      scopes: ["sessions:read", "usage:read"],
    });
    const sessions = await Promise.all(
      Array.from({ length: WRITERS }, () => tenant.call<{ id: string }>("POST", "/v1/sessions", {})),
    );
    const acknowledged = sessions.map(() => ({ messages: 0, events: 0 }));
    const killed = new AbortController();
    const writers = sessions.map(async ({ id }, writer) => {
      const count = acknowledged[writer] ?? { messages: 0, events: 0 };
      try {
        for (let index = 0; !killed.signal.aborted; index++) {
          await tenant.call("POST", `/v1/sessions/${id}/messages`, { message: text(`m${index}`, "user", `line ${index}`) });
          count.messages += 1;
          await tenant.call("POST", `/v1/sessions/${id}/usage`, {
            event: { id: `e${index}`, provider: "p", model: "m", usage: { input: 10 } },
          });
          count.events += 1;
        }
      } catch {
        // The plane is dead: what was not answered may or may not be there.
      }
    });
    await until("some hundred writes", async () => acknowledged.reduce((sum, count) => sum + count.messages, 0) > 150);
    killHard(first);
    killed.abort();
    await Promise.all(writers);

    const second = await start();
    const read = caller(second.url, key);
    for (const [writer, { id }] of sessions.entries()) {
      const session = await read<{ message_count: number; usage: { events: number } }>("GET", `/v1/sessions/${id}`);
      const count = acknowledged[writer] ?? { messages: 0, events: 0 };
      // One more of each at most: the write whose answer was lost.
      expect(session.message_count - count.messages).toBeOneOf([0, 1]);
      expect(session.usage.events - count.events).toBeOneOf([0, 1]);
      await until("the catalog to catch up", async () => {
        const { data } = await read<{ data: { id: string; message_count: number; usage: { events: number } }[] }>(
          "GET",
          "/v1/sessions",
        );
        const row = data.find((one) => one.id === id);
        return row?.message_count === session.message_count && row.usage.events === session.usage.events;
      });
    }
    const end = new Date(Date.now() + 3_600_000).toISOString();
    const report = await read<{ totals: { events: number } }>(
      "GET",
      `/v1/reports/usage?start=2026-01-01T00:00:00Z&end=${end}&bucket=month`,
    );
    const details = await Promise.all(sessions.map(({ id }) => read<{ usage: { events: number } }>("GET", `/v1/sessions/${id}`)));
    expect(report.totals.events).toBe(details.reduce((sum, session) => sum + session.usage.events, 0));
  });
});
