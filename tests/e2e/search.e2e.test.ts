import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

type Hit = { session_id: string; message_id: string; role: string; content: string; snippet: string; on_active_path: boolean };
type Page = { data: Hit[]; has_more: boolean; next_cursor: string | null };

async function conversation(...texts: string[]): Promise<string> {
  const session = await plane.session(tenant);
  const messages = texts.map((one, index) => text(`m${index}`, index % 2 === 0 ? "user" : "assistant", one));
  await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages });
  return session;
}
const search = (session: string, q: string, rest = "") =>
  tenant.call<Page>("GET", `/v1/sessions/${session}/search?q=${encodeURIComponent(q)}${rest}`);
const found = async (session: string, q: string, rest = ""): Promise<string[]> =>
  (await search(session, q, rest)).body.data.map((hit) => hit.message_id);

const PLAN = "on Friday we plan the deployment";

describe("a search of a session", () => {
  test("finds all words anywhere, a phrase in quotes, and one Chinese character", async () => {
    const session = await conversation(PLAN, "the deployment is late", "用户喜欢咖啡", "Friday, then");
    const { status, body } = await search(session, "deployment Friday");
    expect(status).toBe(200);
    expect(body).toMatchObject({ has_more: false, next_cursor: null });
    expect(body.data).toMatchObject([
      {
        session_id: session,
        message_id: "m0",
        role: "user",
        content: PLAN,
        snippet: "on «Friday» we plan the «deployment»",
        on_active_path: true,
      },
    ]);
    expect(await found(session, '"plan the deployment"')).toEqual(["m0"]);
    expect(await found(session, '"Friday deployment"')).toEqual([]);
    expect(await found(session, "咖")).toEqual(["m2"]);
    expect(await found(session, "deploy*")).toEqual(expect.arrayContaining(["m0", "m1"]));
  });

  test("follows edits and deletions, filters, and goes on page by page", async () => {
    const session = await conversation("apples", "pears", "apples and pears");
    const path = `/v1/sessions/${session}/messages`;
    expect((await found(session, "apples")).toSorted()).toEqual(["m0", "m2"]);
    await tenant.call("PUT", `${path}/m0`, { message: text("m0", "user", "cherries") });
    await tenant.call("DELETE", `${path}/m1`);
    await tenant.call("POST", path, { message: text("m3", "assistant", "more apples"), parent_id: "m0" });
    expect((await found(session, "apples")).toSorted()).toEqual(["m2", "m3"]);
    expect(await found(session, "cherries")).toEqual(["m0"]);
    expect(await found(session, "pears")).toEqual(["m2"]);
    expect(await found(session, "apples", "&role=assistant")).toEqual(["m3"]);
    expect(await found(session, "apples", "&on_active_path=1")).toEqual(["m3"]);
    expect(await found(session, "apples", "&leaf_id=m2")).toEqual(["m2"]);
    expect(await found(session, "apples", "&created_at[lt]=2020-01-01T00:00:00Z")).toEqual([]);
    expect(await found(session, "apples", "&created_at[gte]=2020-01-01T00:00:00Z")).toHaveLength(2);
    const first = (await search(session, "apples", "&limit=1")).body;
    const second = (await search(session, "apples", `&limit=1&cursor=${first.next_cursor}`)).body;
    expect([...first.data, ...second.data].map((hit) => hit.message_id).toSorted()).toEqual(["m2", "m3"]);
    expect([first.has_more, second.has_more]).toEqual([true, false]);
  });

  test("goes on after the object was evicted", async () => {
    const session = await conversation(PLAN);
    expect(await found(session, "plans")).toEqual(["m0"]);
    await plane.evict(tenant, session);
    expect(await found(session, "plans")).toEqual(["m0"]);
  });

  test("refuses an empty query, a leaf that is not there, and knows no other tenant's session", async () => {
    const session = await conversation(PLAN);
    for (const q of ["", "  "]) expect((await search(session, q)).status).toBe(422);
    expect((await tenant.call("GET", `/v1/sessions/${session}/search`)).status).toBe(422);
    expect((await search(session, "plan", "&leaf_id=nowhere")).status).toBe(404);
    expect((await search(session, "plan", "&leaf_id=m0&on_active_path=1")).status).toBe(422);
    const stranger = await plane.tenant();
    const theirs = await stranger.call("GET", `/v1/sessions/${session}/search?q=plan`);
    expect([theirs.status, theirs.body["code"]]).toEqual([404, "not_found"]);
  });

  test.each(['"', "*", "a OR b", "NEAR(a b)", "stems : x", "^a", "-a", "(", "😀", "\0", "a\0b", "'; --"])(
    "takes %j as words",
    async (q) => {
      const session = await conversation("a b x");
      expect((await search(session, q)).status).toBe(200);
    },
  );
});
