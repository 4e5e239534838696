import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;
beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

type Hit = { session_id: string; message_id: string; content: string; snippet: string; on_active_path: boolean };
type Page = {
  data: Hit[];
  has_more: boolean;
  next_cursor: string | null;
  as_of: string | null;
  complete_through: { session_id: string; seq: number }[];
};

const search = async (q: string, rest = "", as: Tenant = tenant): Promise<Page> =>
  (await as.call<Page>("GET", `/v1/search?q=${encodeURIComponent(q)}${rest}`)).body;
const found = async (q: string, rest = ""): Promise<string[]> =>
  (await search(q, rest)).data.map((hit) => hit.message_id).toSorted();
const finds = (q: string, ids: readonly string[], rest = "") =>
  until(`${q} to find ${ids.join()}`, async () => (await found(q, rest)).join() === ids.join());

async function conversation(name: string, ...texts: string[]): Promise<string> {
  const session = await plane.session(tenant);
  const messages = texts.map((one, index) => text(`${name}${index}`, index % 2 === 0 ? "user" : "assistant", one));
  await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages });
  return session;
}

const FORGET = [
  ...["texts", "sessions", "early", "state"].map((table) => `DELETE FROM ${table}`),
  "INSERT INTO search_index (search_index) VALUES ('delete-all')",
];

describe("a search of all sessions", () => {
  test("finds texts of every session of the tenant, soon, and none of another's", async () => {
    const first = await conversation("a", "on Friday we plan the deployment", "agreed");
    const second = await conversation("b", "deployed already", "用户喜欢咖啡");
    await finds("deploy*", ["a0", "b0"]);
    await finds("咖", ["b1"]);
    const page = await search("deployment Friday");
    expect(page.data).toMatchObject([
      {
        session_id: first,
        message_id: "a0",
        role: "user",
        snippet: "on «Friday» we plan the «deployment»",
        on_active_path: true,
      },
    ]);
    expect(page.as_of).not.toBeNull();
    expect(page.complete_through).toEqual([{ session_id: first, seq: expect.any(Number) }]);
    expect(await found("deploy*", `&session_id=${second}`)).toEqual(["b0"]);
    expect(await found("deploy*", "&role=assistant")).toEqual([]);
    expect(await found("deploy*", "&created_at[lt]=2020-01-01T00:00:00Z")).toEqual([]);
    const one = await search("deploy*", "&limit=1");
    const two = await search("deploy*", `&limit=1&cursor=${one.next_cursor}`);
    expect([...one.data, ...two.data].map((hit) => hit.message_id).toSorted()).toEqual(["a0", "b0"]);
    expect([one.has_more, two.has_more]).toEqual([true, false]);
    const stranger = await plane.tenant();
    for (const rest of ["", `&session_id=${first}`]) expect((await search("deployment", rest, stranger)).data).toEqual([]);
    expect((await tenant.call("GET", "/v1/search?q=")).status).toBe(422);
  });

  test("follows edits, deletions and a clear", async () => {
    const session = await conversation("c", "walrus one", "walrus two", "walrus three");
    const path = `/v1/sessions/${session}/messages`;
    await finds("walrus", ["c0", "c1", "c2"]);
    await tenant.call("PUT", `${path}/c0`, { message: text("c0", "user", "heron one") });
    await tenant.call("DELETE", `${path}/c1`);
    await finds("walrus", ["c2"]);
    await finds("heron", ["c0"]);
    await tenant.call("DELETE", path);
    await tenant.call("POST", path, { message: text("c9", "user", "walrus nine") });
    await finds("walrus", ["c9"]);
    await finds("heron", []);
  });

  test("is made again by a repair, from nothing", async () => {
    const session = await conversation("d", "narwhal alpha", "narwhal beta", "narwhal gamma");
    const path = `/v1/sessions/${session}/messages`;
    await tenant.call("DELETE", `${path}/d1`);
    await tenant.call("PUT", `${path}/d2`, { message: text("d2", "user", "narwhal delta") });
    await finds("narwhal", ["d0", "d2"]);
    await plane.inSearch(tenant, ...FORGET);
    expect(await found("narwhal")).toEqual([]);
    const repaired = await plane.operator("POST", "/v1/operations/repair", { tenant_id: tenant.id, session_id: session });
    expect(repaired.status).toBe(202);
    await finds("narwhal", ["d0", "d2"]);
    await finds("delta", ["d2"]);
    expect(await found("gamma")).toEqual([]);
    await until("the index to be complete", async () => {
      const [mark] = (await search("delta")).complete_through;
      return mark !== undefined && mark.seq >= 4;
    });
  });

  test(
    "that takes nothing in gets it again; its facts stay unconfirmed, and no other tenant waits",
    { timeout: 90_000 },
    async () => {
      const session = await conversation("f", "before");
      await finds("before", ["f0"]);
      await plane.inSearch(tenant, "ALTER TABLE texts RENAME TO away");
      const path = `/v1/sessions/${session}/messages`;
      await tenant.call("POST", path, { message: text("f1", "user", "meanwhile") });
      const stranger = await plane.tenant();
      const theirs = await plane.session(stranger);
      await stranger.call("POST", `/v1/sessions/${theirs}/messages`, { message: text("g0", "user", "meanwhile") });
      await until("the other tenant's text", async () => (await search("meanwhile", "", stranger)).data.length === 1);
      const row = async () =>
        (await plane.objectRows<{ projected_seq: number }>(tenant, session, "SELECT projected_seq FROM session"))[0];
      expect((await row())?.projected_seq).toBe(2);
      await plane.inSearch(tenant, "ALTER TABLE away RENAME TO texts");
      await finds("meanwhile", ["f1"]);
      await until("the facts to be confirmed", async () => (await row())?.projected_seq === 3);
    },
  );

  test("takes messages far over what a queue holds, and finds their beginnings", async () => {
    const session = await conversation(
      "e",
      `ostrich ${"filling ".repeat(100_000)}`,
      ...Array.from({ length: 30 }, (_, at) => `emu${at} ${"é".repeat(11_000)}`),
    );
    await finds("ostrich", ["e0"]);
    await finds("emu29", ["e30"]);
    const [mark] = (await search("ostrich")).complete_through;
    expect(mark?.session_id).toBe(session);
  });
});
