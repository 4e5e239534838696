import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

const SMALL = Buffer.from("a small picture");
const LARGE = randomBytes(300_000);
const dataUrl = (bytes: Buffer, type: string): string => `data:${type};base64,${bytes.toString("base64")}`;
const file = (url: string, mediaType: string) => ({ type: "file", mediaType, url });
const withParts = (id: string, ...parts: object[]) => ({ id, role: "user", parts });

type Message = { id: string; parts: { url: string }[] };
const append = (path: string, message: object) =>
  tenant.call<{ results: { message: Message }[]; code: string; errors?: { pointer: string }[] }>("POST", `${path}/messages`, {
    message,
  });
const read = async (path: string, id: string, query = ""): Promise<Message> =>
  (await tenant.call<{ message: Message }>("GET", `${path}/messages/${id}${query}`)).body.message;

async function fetchLink(link: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(new URL(link, plane.url), { headers: { Authorization: `Bearer ${tenant.key}`, ...headers } });
}
const bytesAt = async (link: string): Promise<Buffer> => Buffer.from(await (await fetchLink(link)).arrayBuffer());

describe.each([
  ["small", SMALL],
  ["large", LARGE],
])("%s bytes of a message", (_name, bytes) => {
  const message = withParts("m", { type: "text", text: "look" }, file(dataUrl(bytes, "image/png"), "image/png"));

  test("leave it for a link that gives them, and come back exactly", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    const reply = (await append(path, message)).body.results[0]?.message;
    expect(reply?.parts[1]?.url).toMatch(/^\/v1\/attachments\/att_\w{26}\?session_id=ses_\w+&media_type=image%2Fpng$/);
    await plane.evict(tenant, session);
    const stored = await read(path, "m");
    expect(stored).toEqual(reply);
    const response = await fetchLink(stored.parts[1]?.url ?? "");
    expect([response.status, response.headers.get("Content-Type"), response.headers.get("X-Content-Type-Options")]).toEqual([
      200,
      "image/png",
      "nosniff",
    ]);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    expect(await read(path, "m", "?attachments=inline")).toEqual(message);
    const page = await tenant.call<{ data: unknown[] }>("GET", `${path}/messages?attachments=inline`);
    expect(page.body.data).toEqual([message]);
    const stream = await tenant.call<string>("GET", `${path}/messages?attachments=inline`, undefined, {
      Accept: "application/x-ndjson",
    });
    expect(stream.body).toBe(`${JSON.stringify(message)}\n`);
  });

  test("are given in part, by ETag, and described", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const link = (await append(path, message)).body.results[0]?.message.parts[1]?.url ?? "";
    const part = await fetchLink(link, { Range: "bytes=2-5" });
    expect([part.status, part.headers.get("Content-Range")]).toEqual([206, `bytes 2-5/${bytes.length}`]);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(2, 6))).toBe(true);
    const etag = (await fetchLink(link)).headers.get("ETag") ?? "";
    expect((await fetchLink(link, { "If-None-Match": etag })).status).toBe(304);
    const past = await fetchLink(link, { Range: "bytes=9000000-" });
    expect([past.status, await past.json()]).toMatchObject([416, { code: "range_not_satisfiable" }]);
    const meta = await tenant.call("GET", link.replace("?", "/meta?"));
    expect(meta.body).toMatchObject({
      media_type: "image/png",
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    });
  });

  test("are kept once, each reference with the media type that it came with", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    const picture = withParts("p", file(dataUrl(bytes, "image/png"), "image/png"));
    const document = withParts("d", file(dataUrl(bytes, "application/pdf"), "application/pdf"));
    const tool = {
      id: "t",
      role: "assistant",
      parts: [
        {
          type: "tool-shot",
          toolCallId: "c",
          state: "output-available",
          output: { image: { mediaType: "image/webp", data: bytes.toString("base64") } },
        },
      ],
    };
    for (const one of [picture, document, tool]) expect((await append(path, one)).body.code).toBeUndefined();
    expect(await plane.objectRows(tenant, session, "SELECT count(*) AS kept FROM media")).toEqual([{ kept: 1 }]);
    for (const one of [picture, document, tool]) expect(await read(path, one.id, "?attachments=inline")).toEqual(one);
    const pdf = (await read(path, "d")).parts[0]?.url ?? "";
    expect((await fetchLink(pdf)).headers.get("Content-Type")).toBe("application/pdf");
  });

  test("go when the last message that refers to them goes, and not before", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    for (const id of ["a", "b"]) await append(path, { ...message, id });
    const link = (await read(path, "a")).parts[1]?.url ?? "";
    await tenant.call("DELETE", `${path}/messages/a`);
    expect((await bytesAt(link)).equals(bytes)).toBe(true);
    await tenant.call("PUT", `${path}/messages/b`, { message: text("b", "user", "no more") });
    expect((await fetchLink(link)).status).toBe(404);
    await expect.poll(() => plane.contentKeys(`${tenant.id}/${session}/`), { timeout: 10_000 }).toEqual([]);
    expect(await plane.objectRows(tenant, session, "SELECT count(*) AS left FROM media_trash")).toEqual([{ left: 0 }]);
  });

  test("stay when a message that was read with links is written back", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    await append(path, message);
    const stored = await read(path, "m");
    const same = await tenant.call("PUT", `${path}/messages/m`, { message: stored });
    expect([same.status, same.body["changed"]]).toEqual([200, false]);
    const edited = { ...stored, parts: [{ type: "text", text: "look again" }, ...stored.parts.slice(1)] };
    await tenant.call("PUT", `${path}/messages/m`, { message: edited });
    expect(await read(path, "m", "?attachments=inline")).toEqual({
      ...message,
      parts: [{ type: "text", text: "look again" }, message.parts[1]],
    });
    // A copy under another id has a reference of its own.
    await append(path, { ...stored, id: "copy" });
    await tenant.call("DELETE", `${path}/messages/m`);
    expect(await read(path, "copy", "?attachments=inline")).toEqual({ ...message, id: "copy" });
  });

  test("of another session of the tenant are not reached by a link in a message", async () => {
    const [one, two] = [`/v1/sessions/${await plane.session(tenant)}`, `/v1/sessions/${await plane.session(tenant)}`];
    const link = (await append(one, message)).body.results[0]?.message.parts[1]?.url ?? "";
    const refused = await append(two, withParts("x", file(link, "image/png")));
    expect([refused.status, refused.body.code, refused.body.errors?.[0]?.pointer]).toEqual([
      422,
      "unknown_attachment",
      "/message/parts/0/url",
    ]);
    const renamed = await append(two, withParts("x", file(link.replace(/ses_\w+/, two.slice(13)), "image/png")));
    expect(renamed.body.code).toBe("unknown_attachment");
  });

  test("are what they were after a death between the upload and the message", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    await plane.armFault(tenant, session, bytes === LARGE ? "media:uploaded" : "append:inserted");
    expect((await append(path, message)).status).toBe(201);
    expect(await read(path, "m", "?attachments=inline")).toEqual(message);
    expect(await plane.objectRows(tenant, session, "SELECT count(*) AS refs FROM media_refs")).toEqual([{ refs: 1 }]);
    // What the dead attempt had uploaded waits to be deleted; what the message refers to does not.
    const [kept] = await plane.objectRows<{ r2_key: string | null }>(tenant, session, "SELECT r2_key FROM media");
    const trash = await plane.objectRows<{ r2_key: string }>(tenant, session, "SELECT r2_key FROM media_trash");
    const stored = await plane.contentKeys(`${tenant.id}/${session}/`);
    const known = [kept?.r2_key, ...trash.map((one) => one.r2_key)].filter((key) => typeof key === "string");
    expect(stored.filter((key) => !known.includes(key))).toEqual([]);
    expect(trash.some((one) => one.r2_key === kept?.r2_key)).toBe(false);
    if (bytes === LARGE) expect(stored).toContain(kept?.r2_key);
  });

  test("count as much when they come back as links, and the rest of the message may change", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const call = { type: "tool-x", toolCallId: "c", state: "input-available", input: {} };
    await append(path, { id: "a", role: "assistant", parts: [file(dataUrl(bytes, "image/png"), "image/png"), call] });
    const tokens = async () => (await tenant.call<{ token_estimate: number }>("GET", path)).body.token_estimate;
    const before = await tokens();
    await tenant.call("PATCH", `${path}/messages/a`, { toolCallId: "c", output: "ok" });
    expect(before).toBeGreaterThan(1_600);
    expect((await tokens()) - before).toBeLessThan(10);
  });

  test("of a client's answer to a call are the same answer when they are sent again", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const { body } = await plane.operator<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, {
      name: "client",
      scopes: ["sessions:write"],
    });
    const client = plane.caller(body.key);
    await append(path, {
      id: "a",
      role: "assistant",
      parts: [{ type: "tool-shot", toolCallId: "c", state: "input-available", input: {} }],
    });
    const answer = (type: string) =>
      client("PATCH", `${path}/messages/a`, { toolCallId: "c", output: { url: dataUrl(bytes, type) } });
    expect((await answer("image/png")).body["changed"]).toBe(true);
    expect((await answer("image/png")).body["changed"]).toBe(false);
    expect((await answer("image/jpeg")).body["code"]).toBe("tool_call_closed");
  });

  test("go with all messages", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}`;
    await append(path, message);
    await tenant.call("DELETE", `${path}/messages`);
    await expect.poll(() => plane.contentKeys(`${tenant.id}/${session}/`), { timeout: 10_000 }).toEqual([]);
    expect(await plane.objectRows(tenant, session, "SELECT count(*) AS left FROM media")).toEqual([{ left: 0 }]);
  });
});

test("a message that would be too large with everything in place is refused, however small its body", async () => {
  const path = `/v1/sessions/${await plane.session(tenant)}`;
  const link =
    (await append(path, withParts("m", file(dataUrl(LARGE, "image/png"), "image/png")))).body.results[0]?.message.parts[0]?.url ??
    "";
  const many = Array.from({ length: 100 }, () => file(link, "image/png"));
  const refused = await append(path, withParts("many", ...many));
  expect([refused.status, refused.body.code, refused.body.errors?.[0]?.pointer]).toEqual([413, "message_too_large", "/message"]);
});

test("a data URL keeps its parameters, each reference its own", async () => {
  const path = `/v1/sessions/${await plane.session(tenant)}`;
  const url = (name: string) => `data:image/png;name=${name};base64,${SMALL.toString("base64")}`;
  for (const name of ["a", "b"]) await append(path, withParts(name, file(url(name), "image/png")));
  for (const name of ["a", "b"])
    expect(await read(path, name, "?attachments=inline")).toEqual(withParts(name, file(url(name), "image/png")));
  const put = await tenant.call("PUT", `${path}/messages/a`, { message: withParts("a", file(url("c"), "image/png")) });
  expect(put.body["changed"]).toBe(true);
  expect(await read(path, "a", "?attachments=inline")).toEqual(withParts("a", file(url("c"), "image/png")));
  const huge = file(url("x".repeat(3_000)), "image/png");
  await append(path, withParts("huge", huge));
  expect(await read(path, "huge")).toEqual(withParts("huge", huge));
});

test("more attachments than a message may have are refused", async () => {
  const path = `/v1/sessions/${await plane.session(tenant)}`;
  const many = Array.from({ length: 1_001 }, () => ({ type: "x", mediaType: "a/b", data: "AA==" }));
  expect((await append(path, withParts("many", ...many))).body.code).toBe("message_too_large");
});

test("an edit in the middle of reads with everything in place is seen whole or not at all", async () => {
  const path = `/v1/sessions/${await plane.session(tenant)}`;
  const picture = file(dataUrl(LARGE, "image/png"), "image/png");
  const versions = [
    withParts("b", { type: "text", text: "v1" }, picture),
    withParts("b", { ...picture, name: "v2" }),
    withParts("b", { type: "text", text: "v3" }),
  ];
  await append(path, withParts("a", picture));
  await append(path, versions[0] ?? {});
  const writer = async () => {
    for (let round = 0; round < 20; round++)
      await tenant.call("PUT", `${path}/messages/b`, { message: versions[round % versions.length] });
  };
  const reader = async () => {
    for (let round = 0; round < 20; round++) {
      const { status, body } = await tenant.call<{ data: object[] }>("GET", `${path}/messages?attachments=inline`);
      expect(status).toBe(200);
      expect(versions).toContainEqual(body.data[1]);
    }
  };
  await Promise.all([writer(), reader(), reader()]);
});

describe("what is not bytes that can be put back exactly", () => {
  test.each([
    ["text in a data URL", file(`data:text/plain;base64,${btoa("words")}`, "text/plain")],
    ["a remote file", file("https://example.com/a.png", "image/png")],
    ["base64 without its padding", file("data:image/png;base64,YWJjZA", "image/png")],
    ["a link that only looks like ours", { type: "source-url", url: "/v1/attachments/of-another-api" }],
    ["a data URL in prose", { type: "text", text: dataUrl(SMALL, "image/png") }],
  ])("%s stays where it is", async (_name, part) => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    expect((await append(path, withParts("m", part))).status).toBe(201);
    expect(await read(path, "m")).toEqual(withParts("m", part));
  });

  test("a file whose base64 is broken is refused by its place", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const broken = await append(path, withParts("m", file("data:image/png;base64,@@@@", "image/png")));
    expect([broken.status, broken.body.code, broken.body.errors?.[0]?.pointer]).toEqual([
      422,
      "broken_media",
      "/message/parts/0/url",
    ]);
  });

  test("a type that differs from the URL's is the part's own affair", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const mixed = withParts("m", file(dataUrl(SMALL, "image/jpeg"), "image/png"));
    await append(path, mixed);
    expect(await read(path, "m", "?attachments=inline")).toEqual(mixed);
  });
});

test("a tool's result with a large picture leaves the message too", async () => {
  const path = `/v1/sessions/${await plane.session(tenant)}`;
  const call = { type: "tool-shot", toolCallId: "c", state: "input-available", input: {} };
  await append(path, { id: "a", role: "assistant", parts: [call] });
  const output = { screen: { url: dataUrl(LARGE, "image/png") } };
  const patched = await tenant.call("PATCH", `${path}/messages/a`, { toolCallId: "c", output });
  expect(JSON.stringify(patched.body).length).toBeLessThan(2_000);
  expect(await read(path, "a", "?attachments=inline")).toMatchObject({ parts: [{ output }] });
});
