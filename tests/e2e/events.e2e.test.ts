import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100, protect_head: 1, cooldown_messages: 1 } });
});
afterAll(() => plane.close());

type Event = { readonly id: number; readonly type: string; readonly data: Record<string, unknown> };

/** A listener that can be cut off. Reads what has come; `take` waits for so many more. */
async function listen(path: string, headers: Record<string, string> = {}) {
  const abort = new AbortController();
  const response = await fetch(new URL(path, plane.url), {
    headers: { Authorization: `Bearer ${tenant.key}`, Accept: "text/event-stream", ...headers },
    signal: abort.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const taken: Event[] = [];
  let rest = "";
  let lastId = "";
  const parse = (block: string): Event | null => {
    const fields = new Map(
      block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
    );
    lastId = fields.get("id") ?? lastId;
    const type = fields.get("event");
    return type === undefined
      ? null
      : { id: Number(fields.get("id")), type, data: JSON.parse(fields.get("data") ?? "{}") as Event["data"] };
  };
  return {
    status: response.status,
    type: response.headers.get("Content-Type"),
    lastId: () => lastId,
    /** So many events, or as many as came before the stream was cut off. */
    async take(count: number): Promise<Event[]> {
      while (taken.length < count) {
        const read = await reader?.read().catch(() => undefined);
        if (read === undefined || read.done) break;
        const blocks = (rest + read.value).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = parse(block);
          if (event !== null) taken.push(event);
        }
      }
      return taken.splice(0, count);
    },
    cut: () => abort.abort(),
  };
}

describe("server-sent events", () => {
  test("tell everything that happens, once and in order, each with its number", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    const listener = await listen(`${path}/events?after=0`);
    expect([listener.status, listener.type]).toEqual([200, "text/event-stream"]);
    const send = (id: string, role: "user" | "assistant", rest = {}) =>
      tenant.call("POST", `${path}/messages`, { message: text(id, role, `this is ${id}`), ...rest });
    await send("u1", "user");
    await send("a1", "assistant");
    await send("a1", "assistant");
    await tenant.call("PUT", `${path}/messages/a1`, { message: text("a1", "assistant", "better") });
    await tenant.call("PUT", `${path}/messages/a1`, { message: text("a1", "assistant", "better") });
    await tenant.call("POST", `${path}/usage`, { event: { id: "use", provider: "p", model: "m", usage: { input: 7 } } });
    await tenant.call("PUT", `${path}/leaf`, { leaf_id: "u1" });
    await tenant.call("DELETE", `${path}/messages/a1`);
    await tenant.call("DELETE", `${path}/messages`);
    const events = await listener.take(7);
    expect(events.map((event) => event.type)).toEqual(["append", "append", "update", "usage", "leaf", "delete", "clear"]);
    expect(events.map((event) => event.id)).toEqual(events.map((event) => event.id).toSorted((a, b) => a - b));
    expect(events[0]?.data).toEqual({ message: text("u1", "user", "this is u1"), parent_id: null });
    expect(events[2]?.data).toMatchObject({ message_id: "a1" });
    expect(events[3]?.data).toMatchObject({ id: "use", model: "m", input_tokens: 7 });
    expect([events[4]?.data, events[5]?.data]).toEqual([{ leaf_id: "u1" }, { ids: ["a1"] }]);
    listener.cut();
  });

  test("go on after the last one that a listener had, however often it is cut off", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    // The object dies now and then: whoever listens is cut off, whoever writes tries again.
    const writer = (async () => {
      for (let index = 0; index < 60; index++) {
        if (index % 20 === 9) await plane.armFault(tenant, session, "append:armed");
        await tenant.call("POST", `${path}/messages`, { message: text(`m${index}`, "user", "x") });
        if (index % 7 === 3)
          await tenant.call("PUT", `${path}/messages/m${index}`, { message: text(`m${index}`, "user", `y${index}`) });
      }
    })();
    const seen: Event[] = [];
    while (seen.length < 69) {
      const listener = await listen(`${path}/events`, { "Last-Event-ID": String(seen.at(-1)?.id ?? 0) });
      seen.push(...(await listener.take(Math.min(1 + (seen.length % 11), 69 - seen.length))));
      listener.cut();
    }
    await writer;
    const ids = seen.map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const appended = seen.filter((event) => event.type === "append").map((event) => (event.data["message"] as { id: string }).id);
    expect(appended).toEqual(Array.from({ length: 60 }, (_, index) => `m${index}`));
    expect(seen.filter((event) => event.type === "update")).toHaveLength(9);
  });

  test("begin with what comes next, unless told otherwise, and say where that is", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    await tenant.call("POST", `${path}/messages`, { message: text("before", "user", "x") });
    const listener = await listen(`${path}/events`);
    await tenant.call("POST", `${path}/messages`, { message: text("after", "user", "x") });
    const [event] = await listener.take(1);
    expect(event?.data).toMatchObject({ message: { id: "after" } });
    expect(listener.lastId()).toBe(String(event?.id));
    listener.cut();
  });

  test("reach many listeners, and tell of a compaction from its job to its summary", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const listeners = await Promise.all(Array.from({ length: 20 }, () => listen(`${path}/events`)));
    const messages = Array.from({ length: 14 }, (_, index) =>
      text(`m${index}`, "user", `Item K${index}9 costs $${index}.10. ${"It was talked about for a while. ".repeat(4)}`),
    );
    await tenant.call("POST", `${path}/messages`, { messages });
    const all = await Promise.all(listeners.map((listener) => listener.take(19)));
    for (const events of all) expect(events).toEqual(all[0]);
    const told = all[0]?.slice(14).map(({ type, data }) => [type, data["state"] ?? data["overlay_id"]]);
    expect(told?.map(([type, state]) => (type === "compaction" ? state : type))).toEqual([
      "queued",
      "running",
      "usage",
      "compact",
      "applied",
    ]);
    for (const listener of listeners) listener.cut();
  });

  test("refuse an id that is none, and a session that is not there", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    expect((await tenant.call("GET", `${path}/events`, undefined, { "Last-Event-ID": "x" })).body["code"]).toBe("invalid");
    expect((await tenant.call("GET", "/v1/sessions/ses_01m8ngf31nesgbjawm0yzz5x4h/events")).status).toBe(404);
  });
});

describe("a WebSocket", () => {
  type Frame = {
    type: string;
    event?: string;
    seq?: number;
    data?: { message?: { id: string } };
    phase?: string;
    tokenEstimate?: number;
    tokenThreshold?: number;
    compacted?: { tokensBefore: number };
  };

  async function connect(path: string) {
    const url = new URL(path, plane.url);
    url.protocol = "ws:";
    // Node's own WebSocket takes headers.
    const socket = new WebSocket(url.href, { headers: { Authorization: `Bearer ${tenant.key}` } } as never);
    const frames: Frame[] = [];
    socket.addEventListener("message", (event) => frames.push(JSON.parse(String(event.data)) as Frame));
    await new Promise((open, fail) => {
      socket.addEventListener("open", open);
      socket.addEventListener("error", fail);
    });
    return { socket, frames };
  }

  test("gets the same events and the session's status, across an eviction of the object", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    const { socket, frames } = await connect(`${path}/events?after=0`);
    await tenant.call("POST", `${path}/messages`, { message: text("one", "user", "x") });
    await plane.evict(tenant, session);
    await tenant.call("POST", `${path}/messages`, { message: text("two", "user", "x") });
    await expect
      .poll(() => frames.filter((frame) => frame.type === "event").map((frame) => frame.data?.message?.id))
      .toEqual(["one", "two"]);
    expect(frames.at(-1)).toEqual({ type: "cf_agent_session", phase: "idle", tokenEstimate: 12, tokenThreshold: 600 });
    socket.close();
  });

  test("ends when the session is erased, and no other begins", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    const { socket } = await connect(`${path}/events?after=0`);
    expect((await tenant.call("DELETE", path)).status).toBe(202);
    await expect.poll(() => socket.readyState).toBe(WebSocket.CLOSING);
    await expect(connect(`${path}/events`)).rejects.toBeDefined();
  });

  test("tells of a compaction by the session's phase and what it gained", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const { socket, frames } = await connect(`${path}/events`);
    const messages = Array.from({ length: 14 }, (_, index) =>
      text(`m${index}`, "user", `Item K${index}9 costs $${index}.10. ${"It was talked about for a while. ".repeat(4)}`),
    );
    await tenant.call("POST", `${path}/messages`, { messages });
    const statuses = () => frames.filter((frame) => frame.type === "cf_agent_session");
    await expect.poll(() => statuses().some((frame) => frame.compacted !== undefined), { timeout: 10_000 }).toBe(true);
    expect(statuses().map((frame) => frame.phase)).toContain("compacting");
    const done = statuses().find((frame) => frame.compacted !== undefined);
    expect(done?.phase).toBe("idle");
    expect(done?.compacted?.tokensBefore).toBeGreaterThan(done?.tokenEstimate ?? 0);
    socket.close();
  });
});
