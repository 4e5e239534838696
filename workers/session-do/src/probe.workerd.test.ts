import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { append, conversation, message, opened, until, unopened, RULES } from "./testing/session.ts";

test("probe", async () => {
  const sent: unknown[] = [];
  const s = await opened();
  const first = await append(s, [message("a")]);
  expect(first.results[0]?.inserted).toBe(true);
  const same = await runInDurableObject(s.stub, (instance) => {
    const e = (instance as unknown as { env: typeof env }).env;
    const proto = Object.getPrototypeOf(e.CATALOG_EVENTS);
    console.log("same env", e === env, e.CATALOG_EVENTS === env.CATALOG_EVENTS, Object.getOwnPropertyNames(proto), String(proto.constructor.name));
    vi.spyOn(proto, "send").mockImplementation(async (body: unknown) => { sent.push(body); });
    return 1;
  });
  await until("sent", () => sent.length > 0);
  console.log(JSON.stringify(sent));
  const u = unopened();
  console.log(JSON.stringify(await u.rpc().describe(RULES)));
  await runInDurableObject(u.stub, (_i, state) => console.log(state.id.name, state.storage.sql.databaseSize, state.storage.sql.exec("select name from sqlite_master").toArray()));
  await evictDurableObject(s.stub);
  await append(s, conversation(5));
  await s.rpc().armFault("append:inserted");
  const out = await s.rpc().append({ messages: [message("z")], source: "server", rules: RULES }).then((v) => v, (e) => e);
  console.log(String(out), out instanceof Error ? JSON.stringify({ ...out }) : out);
  console.log(JSON.stringify(await s.rpc().append({ messages: [message("z")], source: "server", rules: RULES })));
});
