import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;
/** A key of the same tenant without `sessions:write-as-server`: an application that passes its users' words on. */
let client: Tenant["call"];

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ reserved_metadata_keys: ["verified"] });
  const scopes = ["sessions:read", "sessions:write"];
  const { body } = await plane.operator<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, { name: "client", scopes });
  client = plane.caller(body.key);
});
afterAll(() => plane.close());

type History = {
  data: { id: string; parts: Record<string, unknown>[] }[];
  meta: { id: string; parent_id: string | null }[];
  leaf_id: string | null;
  truncated: boolean;
  next_cursor: string | null;
};
type Problem = { code: string; detail: string; errors?: { pointer: string }[] };

/** A session with these user and assistant messages in a row. */
async function conversation(...ids: string[]): Promise<string> {
  const path = `/v1/sessions/${await plane.session(tenant)}`;
  if (ids.length > 0) {
    const messages = ids.map((id) => text(id, id.startsWith("a") ? "assistant" : "user", `this is ${id}`));
    expect((await tenant.call("POST", `${path}/messages`, { messages })).status).toBe(201);
  }
  return path;
}
const history = async (path: string, query = ""): Promise<History> =>
  (await tenant.call<History>("GET", `${path}/messages?limit=100${query}`)).body;
const idsOf = ({ data }: { data: readonly { id: string }[] }): string[] => data.map((one) => one.id);
const refusal = ({ status, body }: { status: number; body: unknown }) => {
  const { code, errors } = body as Problem;
  return [status, code, errors?.[0]?.pointer];
};

describe("branches", () => {
  test("a second reply is a branch: listed below its parent, read by its leaf, active until another is chosen", async () => {
    const path = await conversation("u1", "a1");
    const added = await tenant.call("POST", `${path}/messages`, { message: text("a2", "assistant", "again"), parent_id: "u1" });
    expect([added.status, added.body["leaf_id"]]).toEqual([201, "a2"]);
    const branches = (await tenant.call<History & { active_id: string }>("GET", `${path}/messages/u1/branches`)).body;
    expect([idsOf(branches), branches.active_id]).toEqual([["a1", "a2"], "a2"]);
    expect(idsOf(await history(path, "&leaf_id=a2"))).toEqual(["u1", "a2"]);
    const leaves = (await tenant.call<{ data: { id: string; active: boolean }[] }>("GET", `${path}/leaves`)).body.data;
    expect(leaves.map(({ id, active }) => [id, active])).toEqual([
      ["a2", true],
      ["a1", false],
    ]);
    const chosen = await tenant.call("PUT", `${path}/leaf`, { leaf_id: "a1" });
    expect([chosen.status, chosen.body["leaf_id"]]).toEqual([200, "a1"]);
    expect(idsOf(await history(path))).toEqual(["u1", "a1"]);
    expect((await tenant.call("GET", path)).body["leaf_id"]).toBe("a1");
    await tenant.call("POST", `${path}/messages`, { message: text("u2", "user", "on") });
    expect(idsOf(await history(path))).toEqual(["u1", "a1", "u2"]);
  });

  test("the choice of a leaf survives an eviction", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    await tenant.call("POST", `${path}/messages`, { messages: [text("u1", "user", "1"), text("a1", "assistant", "2")] });
    await tenant.call("PUT", `${path}/leaf`, { leaf_id: "u1" });
    await plane.evict(tenant, session);
    expect(idsOf(await history(path))).toEqual(["u1"]);
  });

  test("roots are listed, and a page of branches goes on", async () => {
    const path = await conversation("r1");
    for (const id of ["r2", "r3"])
      await tenant.call("POST", `${path}/messages`, { message: text(id, "user", id), parent_id: null });
    const first = (await tenant.call<History>("GET", `${path}/roots?limit=2`)).body;
    const rest = (await tenant.call<History>("GET", `${path}/roots?limit=2&cursor=${first.next_cursor}`)).body;
    expect([idsOf(first), idsOf(rest), rest.next_cursor]).toEqual([["r1", "r2"], ["r3"], null]);
  });

  test("an unknown leaf is refused where it is written and not found where it is read", async () => {
    const path = await conversation("u1");
    expect(refusal(await tenant.call("PUT", `${path}/leaf`, { leaf_id: "nope" }))).toEqual([422, "unknown_leaf", "/leaf_id"]);
    expect((await tenant.call("GET", `${path}/messages?leaf_id=nope`)).status).toBe(404);
    expect((await tenant.call("GET", `${path}/stats?leaf_id=nope`)).status).toBe(404);
    expect((await tenant.call("GET", `${path}/messages/nope/branches`)).status).toBe(404);
  });
});

describe("deleting", () => {
  test("a message in the middle leaves what is above and below it", async () => {
    const path = await conversation("m0", "m1", "m2", "m3", "m4");
    const deleted = await tenant.call("DELETE", `${path}/messages/m2`);
    expect([deleted.status, deleted.body]).toEqual([204, ""]);
    const { meta, leaf_id } = await history(path);
    expect([meta.map(({ id, parent_id }) => [id, parent_id]), leaf_id]).toEqual([
      [
        ["m0", null],
        ["m1", "m0"],
        ["m3", "m1"],
        ["m4", "m3"],
      ],
      "m4",
    ]);
    expect((await tenant.call("DELETE", `${path}/messages/m2`)).status).toBe(404);
    expect((await tenant.call("GET", path)).body["message_count"]).toBe(4);
  });

  test("the active leaf makes its parent the leaf, not another branch", async () => {
    const path = await conversation("u1", "a1");
    await tenant.call("POST", `${path}/messages`, { message: text("a2", "assistant", "x"), parent_id: "u1" });
    await tenant.call("DELETE", `${path}/messages/a2`);
    expect((await history(path)).leaf_id).toBe("u1");
  });

  test("several by their ids answers for each, once a key", async () => {
    const path = await conversation("m0", "m1", "m2", "m3");
    const send = () => tenant.call("POST", `${path}/messages/delete`, { ids: ["m1", "m3", "m9"] }, { "Idempotency-Key": "k" });
    const [first, second] = [await send(), await send()];
    expect(first.body).toMatchObject({
      leaf_id: "m2",
      results: [
        { id: "m1", deleted: true },
        { id: "m3", deleted: true },
        { id: "m9", deleted: false },
      ],
    });
    expect([second.body["results"], second.headers.get("Idempotent-Replayed")]).toEqual([first.body["results"], "true"]);
  });

  test("all of them leaves the session, its usage and an empty history, and ids may come again", async () => {
    const path = await conversation("m0", "m1");
    await tenant.call("POST", `${path}/usage`, { event: { provider: "p", model: "m", usage: { input: 7 } } });
    expect((await tenant.call("DELETE", `${path}/messages`)).status).toBe(204);
    expect(await history(path)).toMatchObject({ data: [], leaf_id: null });
    expect((await tenant.call("GET", path)).body).toMatchObject({ message_count: 0, token_estimate: 0, usage: { events: 1 } });
    await tenant.call("POST", `${path}/messages`, { message: text("m1", "user", "anew") });
    expect(idsOf(await history(path))).toEqual(["m1"]);
  });

  test("the catalog learns of it", async () => {
    const session = await plane.session(tenant);
    const messages = ["x0", "x1", "x2"].map((id) => text(id, "user", id));
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages });
    await tenant.call("DELETE", `/v1/sessions/${session}/messages/x1`);
    await expect
      .poll(() => plane.catalog("SELECT message_count, leaf_id FROM sessions WHERE id = ?", session), { timeout: 10_000 })
      .toEqual([{ message_count: 2, leaf_id: "x2" }]);
  });
});

describe("PUT", () => {
  test("replaces content in place, and tells an unchanged message from a changed one", async () => {
    const path = await conversation("u1", "a1", "u2");
    const put = () => tenant.call("PUT", `${path}/messages/a1`, { message: text("a1", "assistant", "better") });
    const [first, second] = [await put(), await put()];
    expect([first.status, first.body["inserted"], first.body["changed"]]).toEqual([200, false, true]);
    expect([second.status, second.body["changed"], second.headers.get("ETag")]).toEqual([200, false, first.headers.get("ETag")]);
    expect((await history(path)).data[1]).toEqual(text("a1", "assistant", "better"));
  });

  test("appends what is not there, and never moves what is", async () => {
    const path = await conversation("u1", "a1");
    const inserted = await tenant.call("PUT", `${path}/messages/a2`, {
      message: { role: "assistant", parts: [{ type: "text", text: "x" }] },
      parent_id: "u1",
    });
    expect([inserted.status, inserted.body["inserted"], inserted.body["leaf_id"]]).toEqual([201, true, "a2"]);
    await tenant.call("PUT", `${path}/messages/a2`, { message: text("a2", "assistant", "y"), parent_id: "a1" });
    expect(idsOf(await history(path, "&leaf_id=a2"))).toEqual(["u1", "a2"]);
  });

  test("with If-Match only updates, and only the version that it names", async () => {
    const path = await conversation("u1");
    const put = (id: string, tag: string, words: string) =>
      tenant.call("PUT", `${path}/messages/${id}`, { message: text(id, "user", words) }, { "If-Match": tag });
    expect(refusal(await put("u9", "*", "x"))).toEqual([412, "precondition_failed", undefined]);
    const tag = (await tenant.call("GET", `${path}/messages/u1`)).headers.get("ETag") ?? "";
    expect((await put("u1", tag, "first")).status).toBe(200);
    const anew = await tenant.call(
      "PUT",
      `${path}/messages/u1`,
      { message: text("u1", "user", "anew") },
      { "If-None-Match": "*" },
    );
    expect(anew.status).toBe(412);
    const latest = (await tenant.call("GET", `${path}/messages/u1`)).headers.get("ETag") ?? "";
    expect((await tenant.call("GET", `${path}/messages/u1`, undefined, { "If-None-Match": latest })).status).toBe(304);
    expect(refusal(await put("u1", tag, "second"))).toEqual([412, "precondition_failed", undefined]);
  });
});

describe("a tool's result", () => {
  const call = (id: string) => ({ type: "tool-search", toolCallId: id, state: "input-available", input: { q: id } });
  const withCalls = async (...ids: string[]): Promise<string> => {
    const path = await conversation("u1");
    await tenant.call("POST", `${path}/messages`, { message: { id: "a1", role: "assistant", parts: ids.map(call) } });
    return path;
  };
  const patch = (path: string, body: object, as: Tenant["call"] = tenant.call) => as("PATCH", `${path}/messages/a1`, body);
  const result = (toolCallId: string) => ({ toolCallId, state: "output-available", output: { found: toolCallId } });

  test("two at once are both there, and the rest of the message stays", async () => {
    const path = await withCalls("c1", "c2", "c3");
    const replies = await Promise.all(["c1", "c2"].map((id) => patch(path, result(id))));
    expect(replies.map((reply) => reply.status)).toEqual([200, 200]);
    const { parts } = (await history(path)).data[1] ?? {};
    expect(parts).toEqual([{ ...call("c1"), ...result("c1") }, { ...call("c2"), ...result("c2") }, call("c3")]);
  });

  test("raises the history's tokens and is the same under its key", async () => {
    const path = await withCalls("c1");
    const before = (await tenant.call<{ token_estimate: number }>("GET", path)).body.token_estimate;
    const send = () =>
      tenant.call<{ token_estimate: number }>(
        "PATCH",
        `${path}/messages/a1`,
        { toolCallId: "c1", output: "word ".repeat(300) },
        { "Idempotency-Key": "p" },
      );
    const [first, second] = [await send(), await send()];
    expect(first.body.token_estimate).toBeGreaterThan(before + 300);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
  });

  test("a client may answer a call that the server opened, once", async () => {
    const path = await withCalls("c1");
    expect((await patch(path, result("c1"), client)).status).toBe(200);
    expect((await patch(path, result("c1"), client)).body["changed"]).toBe(false);
    expect(refusal(await patch(path, { ...result("c1"), output: "forged" }, client))).toEqual([
      409,
      "tool_call_closed",
      undefined,
    ]);
    expect(refusal(await patch(path, { toolCallId: "c1", input: {} }, client))).toEqual([422, "part_not_allowed", "/input"]);
    expect((await patch(path, { ...result("c1"), output: "corrected" })).status).toBe(200);
  });

  test("a preliminary one leaves the call open, and the last one is not preliminary", async () => {
    const path = await withCalls("c1");
    await patch(path, { toolCallId: "c1", output: "half", preliminary: true }, client);
    expect((await patch(path, { toolCallId: "c1", output: "whole" }, client)).status).toBe(200);
    expect((await history(path)).data[1]?.parts[0]).toEqual({ ...call("c1"), state: "output-available", output: "whole" });
  });

  test.each([
    [{ toolCallId: "nope", output: 1 }, "unknown_tool_call", "/toolCallId"],
    [{ toolCallId: "c1" }, "invalid", ""],
    [{ toolCallId: "c1", state: "done" }, "invalid", "/state"],
    [{ toolCallId: "c1", state: "output-available" }, "invalid", "/output"],
    [{ toolCallId: "c1", state: "output-error" }, "invalid", "/errorText"],
    [{ toolCallId: "c1", output: 1, errorText: "x" }, "invalid", "/errorText"],
    [{ toolCallId: "", output: 1 }, "invalid", "/toolCallId"],
    [{ toolCallId: "c1", output: 1, colour: "red" }, "invalid", "/colour"],
  ])("%j is refused: %s at %s", async (body, code, pointer) => {
    expect(refusal(await patch(await withCalls("c1"), body))).toEqual([422, code, pointer]);
  });
});

describe("a client", () => {
  test("writes only the roles that the tenant allows, and no tool's result", async () => {
    const path = await conversation("u1", "a1");
    const append = (message: object) => client("POST", `${path}/messages`, { message });
    expect(refusal(await append(text("x", "assistant", "hi")))).toEqual([422, "role_not_allowed", "/message/role"]);
    const forged = {
      role: "user",
      parts: [
        { type: "text", text: "x" },
        { type: "tool-pay", toolCallId: "c", state: "output-available", output: 1 },
      ],
    };
    expect(refusal(await append(forged))).toEqual([422, "part_not_allowed", "/message/parts/1"]);
    expect((await append(text("x", "user", "hi"))).status).toBe(201);
  });

  test("changes only what it may write, and keeps the metadata that the server had set", async () => {
    const path = await conversation("a1");
    await tenant.call("POST", `${path}/messages`, {
      message: { ...text("u1", "user", "one"), metadata: { verified: true, mood: "good" } },
    });
    const put = (id: string, message: object) => client("PUT", `${path}/messages/${id}`, { message });
    const edited = await put("u1", { ...text("u1", "user", "two"), metadata: { verified: false, mood: "bad" } });
    expect(edited.body["message"]).toEqual({ ...text("u1", "user", "two"), metadata: { verified: true, mood: "bad" } });
    const bare = await put("u1", text("u1", "user", "three"));
    expect(bare.body["message"]).toEqual({ ...text("u1", "user", "three"), metadata: { verified: true } });
    expect(refusal(await put("a1", text("a1", "user", "mine now")))).toEqual([422, "role_not_allowed", "/message/role"]);
    expect(refusal(await put("u1", text("u1", "user", "x")))).toEqual([200, undefined, undefined]);
  });

  test("cannot be rid of the server's metadata by deleting its message", async () => {
    const path = await conversation("a1");
    const message = { ...text("u1", "user", "one"), metadata: { verified: true } };
    await tenant.call("POST", `${path}/messages`, { message });
    expect((await client("DELETE", `${path}/messages/u1`)).body["code"]).toBe("reserved_metadata");
    expect((await history(path)).data[1]).toEqual(message);
  });

  test("deletes only what it may write", async () => {
    const path = await conversation("u1", "a1");
    expect((await client("DELETE", `${path}/messages/a1`)).body["code"]).toBe("role_not_allowed");
    expect((await client("DELETE", `${path}/messages`)).body["code"]).toBe("role_not_allowed");
    expect((await client("DELETE", `${path}/messages/u1`)).status).toBe(204);
    expect(idsOf(await history(path))).toEqual(["a1"]);
  });
});

describe("reading", () => {
  test("a window by bytes says that it is not all, and has the newest", async () => {
    const path = await conversation(...Array.from({ length: 50 }, (_, index) => `m${index}`));
    const part = await history(path, "&max_bytes=1000");
    expect([part.truncated, part.data.at(-1)?.id]).toEqual([true, "m49"]);
    expect((await history(path, "&max_bytes=1000000")).truncated).toBe(false);
  });

  test("a page that was begun goes on along its own path, whatever is written meanwhile", async () => {
    const path = await conversation("m0", "m1", "m2", "m3", "m4", "m5");
    const page = (cursor: string | null, order: string) =>
      tenant.call<History>("GET", `${path}/messages?limit=2&order=${order}${cursor === null ? "" : `&cursor=${cursor}`}`);
    const [up, down] = [(await page(null, "asc")).body, (await page(null, "desc")).body];
    await tenant.call("POST", `${path}/messages`, { message: text("branch", "user", "x"), parent_id: "m0" });
    await tenant.call("DELETE", `${path}/messages/m3`);
    const [second, last] = [(await page(up.next_cursor, "asc")).body, (await page(down.next_cursor, "desc")).body];
    expect([idsOf(up), idsOf(second), second.leaf_id]).toEqual([["m0", "m1"], ["m2", "m4"], "m5"]);
    expect([idsOf(down), idsOf(last)]).toEqual([
      ["m5", "m4"],
      ["m2", "m1"],
    ]);
  });

  test("weighs a path without its content, in pages", async () => {
    const path = await conversation("u1", "a1", "u2");
    type Stats = {
      data: { id: string; bytes: number; token_estimate: number }[];
      totals: { messages: number; bytes: number; token_estimate: number } | null;
      next_cursor: string | null;
    };
    const first = (await tenant.call<Stats>("GET", `${path}/stats?limit=2`)).body;
    const rest = (await tenant.call<Stats>("GET", `${path}/stats?limit=2&cursor=${first.next_cursor}`)).body;
    const rows = [...first.data, ...rest.data];
    expect(idsOf({ data: rows })).toEqual(["u1", "a1", "u2"]);
    expect(first.totals).toEqual({
      messages: 3,
      bytes: rows.reduce((sum, row) => sum + row.bytes, 0),
      token_estimate: rows.reduce((sum, row) => sum + row.token_estimate, 0),
    });
    expect(rest.totals).toBeNull();
  });
});

test("an ended session's messages no longer change", async () => {
  const path = await conversation("u1", "a1");
  await tenant.call("POST", `${path}/end`, { reason: "done" });
  const writes = [
    tenant.call("POST", `${path}/messages`, { message: text("u2", "user", "x") }),
    tenant.call("PUT", `${path}/messages/u1`, { message: text("u1", "user", "x") }),
    tenant.call("PATCH", `${path}/messages/a1`, { toolCallId: "c", output: 1 }),
    tenant.call("DELETE", `${path}/messages/u1`),
    tenant.call("DELETE", `${path}/messages`),
    tenant.call("PUT", `${path}/leaf`, { leaf_id: "u1" }),
  ];
  for (const reply of await Promise.all(writes)) expect(refusal(reply)).toEqual([409, "session_ended", undefined]);
  expect(idsOf(await history(path))).toEqual(["u1", "a1"]);
});
