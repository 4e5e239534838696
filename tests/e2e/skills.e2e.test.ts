import { createHash } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

type Skill = { key: string; version: number; description: string | null; sha256: string; created_at: string; updated_at: string };
type Refusal = { code: string; errors?: { pointer: string; message: string }[] };
type Page = { data: Skill[]; has_more: boolean; next_cursor: string | null; as_of: string };

const MARKDOWN = { "Content-Type": "text/markdown" };
/** Raw UTF-8: fetch takes a header's bytes as Latin-1 characters. */
const rawUtf8 = (text: string): string => Buffer.from(text).toString("latin1");

const put = (key: string, content: string | Uint8Array, headers: Record<string, string> = {}, by: Tenant = tenant) =>
  by.call<Skill & Refusal>("PUT", `/v1/skills/${key}`, content, { ...MARKDOWN, ...headers });
const get = (path: string, headers: Record<string, string> = {}, by: Tenant = tenant) =>
  by.call<string & Refusal>("GET", `/v1/skills/${path}`, undefined, headers);
const describedAs = async (key: string): Promise<string | null> =>
  (await tenant.call<Skill>("GET", `/v1/skills/${key}`, undefined, { Accept: "application/json" })).body.description;
const page = async (query: string, by: Tenant = tenant): Promise<Page> => (await by.call<Page>("GET", `/v1/skills${query}`)).body;
const remove = (key: string, headers: Record<string, string> = {}) =>
  tenant.call<Refusal>("DELETE", `/v1/skills/${key}`, undefined, headers);

describe("a skill", () => {
  test("lives: written, read, changed, listed, deleted, and made anew", async () => {
    const content = "# Refunds\n\nCheck the order first. 先核对订单。\n";
    const created = await put("refunds", content, { "Skill-Description": "How to refund" });
    expect([created.status, created.headers.get("ETag")]).toEqual([201, '"1"']);
    expect(created.body).toEqual({
      key: "refunds",
      version: 1,
      description: "How to refund",
      bytes: Buffer.byteLength(content),
      token_estimate: expect.any(Number),
      sha256: createHash("sha256").update(content).digest("hex"),
      created_at: expect.any(String),
      updated_at: created.body.created_at,
    });

    const read = await get("refunds");
    expect([read.status, read.body]).toEqual([200, content]);
    expect(Object.fromEntries(read.headers)).toMatchObject({
      "content-type": "text/markdown; charset=utf-8",
      etag: '"1"',
      "skill-version": "1",
      "skill-description": "How to refund",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
    });
    const asJson = await get("refunds", { Accept: "application/json" });
    expect(asJson.body).toEqual({ ...created.body, content });

    const changed = await put("refunds", "# Refunds, again");
    expect([changed.status, changed.headers.get("ETag"), changed.body.description]).toEqual([200, '"2"', "How to refund"]);
    expect(changed.body.created_at).toBe(created.body.created_at);
    expect((await get("refunds?version=1")).body).toBe(content);
    expect((await get("refunds?version=1")).headers.get("ETag")).toBe('"1"');
    expect((await get("refunds?version=3")).status).toBe(404);
    expect((await page("?prefix=refunds")).data).toEqual([changed.body]);
    const versions = await tenant.call<Page>("GET", "/v1/skills/refunds/versions");
    expect(versions.body.data).toEqual([changed.body, created.body]);

    expect((await remove("refunds")).status).toBe(204);
    for (const path of ["refunds", "refunds?version=1", "refunds/versions"]) expect((await get(path)).status).toBe(404);
    expect((await page("?prefix=refunds")).data).toEqual([]);
    expect(await plane.contentKeys(`${tenant.id}/skills/versions/refunds/`)).toEqual([]);
    expect((await remove("refunds")).status).toBe(404);

    const again = await put("refunds", content);
    expect([again.status, again.body.version, again.body.description]).toEqual([201, 3, null]);
    expect((await page("?prefix=refunds")).data).toEqual([again.body]);
  });

  test("that is written as it is stays at its version", async () => {
    const first = await put("same", "content", { "Skill-Description": "d" });
    for (const headers of [{}, { "Skill-Description": "d" }]) {
      const again = await put("same", "content", headers);
      expect([again.status, again.headers.get("ETag"), again.body]).toEqual([200, '"1"', first.body]);
    }
    expect((await put("same", "content", { "Skill-Description": "other" })).body.version).toBe(2);
  });

  test("is written, read and deleted only as its tag says", async () => {
    const code = async (reply: Promise<{ status: number; body: { code: string } }>) => {
      const { status, body } = await reply;
      return [status, body.code];
    };
    const refused = [412, "precondition_failed"];
    expect(await code(put("tagged", "a", { "If-Match": "*" }))).toEqual(refused);
    expect(await code(put("tagged", "a", { "If-Match": '"1"' }))).toEqual(refused);
    expect((await put("tagged", "a", { "If-None-Match": "*" })).status).toBe(201);
    expect(await code(put("tagged", "b", { "If-None-Match": "*" }))).toEqual(refused);
    expect(await code(put("tagged", "b", { "If-Match": '"2"' }))).toEqual(refused);
    expect(await code(put("tagged", "b", { "If-Match": "no tag" }))).toEqual(refused);
    expect((await put("tagged", "b", { "If-Match": '"1"' })).headers.get("ETag")).toBe('"2"');
    expect((await put("tagged", "c", { "If-Match": "*" })).headers.get("ETag")).toBe('"3"');

    const unchanged = await get("tagged", { "If-None-Match": '"2", "3"' });
    expect([unchanged.status, unchanged.body, unchanged.headers.get("ETag")]).toEqual([304, "", '"3"']);
    expect((await get("tagged", { "If-None-Match": '"2"' })).status).toBe(200);
    expect(await code(remove("tagged", { "If-Match": '"2"' }))).toEqual(refused);
    expect((await remove("tagged", { "If-Match": '"3"' })).status).toBe(204);
    expect((await remove("tagged", { "If-Match": '"3"' })).status).toBe(404);
  });

  test("of a mebibyte is taken whole", async () => {
    const content = "€ 🙂 x\n".repeat(Math.floor((1024 * 1024) / 11));
    expect((await put("large", content)).status).toBe(201);
    expect((await get("large")).body === content).toBe(true);
  });

  test("keeps a byte order mark, a NUL and markup as they are, and is no page", async () => {
    const content = "\uFEFF<script>alert(1)</script>\0";
    await put("odd", content, { "Content-Type": "text/plain; charset=UTF-8" });
    const response = await fetch(`${plane.url.origin}/v1/skills/odd`, {
      headers: { Authorization: `Bearer ${tenant.key}`, Accept: "text/html" },
    });
    expect(response.headers.get("Content-Type")).toBe("text/markdown; charset=utf-8");
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe(content);
  });
});

describe("a description", () => {
  test.each([
    ["in RFC 8187", "UTF-8''%E2%82%AC%20rates", "€ rates", "UTF-8''%E2%82%AC%20rates"],
    ["in raw UTF-8", rawUtf8("处理退款 🙂"), "处理退款 🙂", `UTF-8''${encodeURIComponent("处理退款 🙂")}`],
    ["of 400 emoji", rawUtf8("🙂".repeat(400)), "🙂".repeat(400), `UTF-8''${encodeURIComponent("🙂".repeat(400))}`],
    ["with spaces around it", "UTF-8''%20a%20b%20", "a b", "a b"],
  ])("%s comes back in the list and in the header", async (name, header, text, sent) => {
    const key = `described-${name.replaceAll(" ", "-")}`;
    const written = await put(key, name, { "Skill-Description": header });
    expect(written.body.description).toBe(text);
    expect((await page(`?prefix=${key}`)).data[0]?.description).toBe(text);
    expect((await get(key)).headers.get("Skill-Description")).toBe(sent);
  });

  test("stays when the header is absent and goes when it is empty", async () => {
    await put("cleared", "a", { "Skill-Description": "d" });
    await put("cleared", "b");
    expect(await describedAs("cleared")).toBe("d");
    await put("cleared", "b", { "Skill-Description": "" });
    expect(await describedAs("cleared")).toBeNull();
    expect((await get("cleared")).headers.get("Skill-Description")).toBeNull();
  });

  test.each([
    ["that is too long", "x".repeat(401)],
    ["with a newline", "UTF-8''a%0Ab"],
    ["with a line separator", "UTF-8''a%E2%80%A8b"],
    ["with a tab", "a\tb"],
    ["with a NUL", "UTF-8''a%00b"],
    ["with broken encoding", "UTF-8''%zz"],
    ["that is encoded and no UTF-8", "UTF-8''%ff"],
    ["that is raw and no UTF-8", "\xff\xfe"],
  ])("%s is refused by its header", async (_name, header) => {
    const { status, body } = await put("undescribed", "x", { "Skill-Description": header });
    expect([status, body.code, body.errors?.[0]?.pointer]).toEqual([422, "invalid", "Skill-Description"]);
    expect((await get("undescribed")).status).toBe(404);
  });
});

describe("a list", () => {
  test("is given by key, page by page, from either end", async () => {
    const lister = await plane.tenant();
    const keys = ["a", "a-1", "a.b", "B", "a_b", "z9", "10"];
    for (const key of keys) await put(key, key, {}, lister);
    for (const [order, expected] of [
      ["asc", keys.toSorted()],
      ["desc", keys.toSorted().toReversed()],
    ] as const) {
      const listed: string[] = [];
      for (let cursor = ""; ;) {
        const { data, next_cursor: next, has_more: hasMore } = await page(`?limit=3&order=${order}${cursor}`, lister);
        listed.push(...data.map(({ key }) => key));
        expect(hasMore).toBe(next !== null);
        if (next === null) break;
        cursor = `&cursor=${next}`;
      }
      expect(listed).toEqual(expected);
    }
    expect((await page("", lister)).data.map(({ key }) => key)).toEqual(keys.toSorted());
  });

  test("by prefix takes no text for a wildcard", async () => {
    const lister = await plane.tenant();
    for (const key of ["ab", "a_b", "axb", "a.b"]) await put(key, key, {}, lister);
    const keysOf = async (prefix: string) =>
      (await page(`?prefix=${encodeURIComponent(prefix)}`, lister)).data.map(({ key }) => key);
    expect(await keysOf("a_")).toEqual(["a_b"]);
    expect(await keysOf("ab")).toEqual(["ab"]);
    for (const nothing of ["%", "_", "A", "a%", "a*", "'", "\0", "🙂", "a/"]) expect(await keysOf(nothing)).toEqual([]);
  });

  test.each(["?limit=0", "?limit=101", "?cursor=x", `?cursor=${btoa("[1]")}`, "?order=up", `?prefix=${"x".repeat(201)}`])(
    "asked for with %s is refused by the parameter",
    async (query) => {
      const { status, body } = await tenant.call<Refusal>("GET", `/v1/skills${query}`);
      expect([status, body.errors?.[0]?.pointer]).toEqual([422, query.split("=")[0]]);
    },
  );

  test("of versions is given page by page, newest first", async () => {
    for (let index = 1; index <= 5; index++) await put("paged", String(index));
    const first = (await tenant.call<Page>("GET", "/v1/skills/paged/versions?limit=3")).body;
    expect([first.data.map(({ version }) => version), first.has_more]).toEqual([[5, 4, 3], true]);
    const rest = (await tenant.call<Page>("GET", `/v1/skills/paged/versions?limit=3&cursor=${first.next_cursor}`)).body;
    expect([rest.data.map(({ version }) => version), rest.next_cursor]).toEqual([[2, 1], null]);
  });
});

/** As it stands here: fetch would resolve and encode the path, and tell the body's length. */
const sendRaw = (method: string, path: string, chunks: readonly (string | Uint8Array)[] = []) =>
  new Promise<{ status: number; body: Refusal }>((resolve, reject) => {
    const headers = { Authorization: `Bearer ${tenant.key}`, ...MARKDOWN };
    const { hostname, port } = plane.url;
    const sent = request({ hostname, port, method, path, headers }, (response) => {
      const received: Buffer[] = [];
      response.on("data", (chunk: Buffer) => received.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(received).toString();
        resolve({ status: response.statusCode ?? 0, body: text === "" ? {} : JSON.parse(text) });
      });
    });
    sent.on("error", reject);
    for (const chunk of chunks) sent.write(chunk);
    sent.end();
  });

describe("bad input", () => {
  test.each([
    ["a slash that is encoded", "a%2fb"],
    ["dots up that are encoded", "..%2f..%2fother"],
    ["two dots", "a..b"],
    ["a dot first", ".hidden"],
    ["a dash first", "-x"],
    ["a newline", "a%0Ab"],
    ["a NUL", "a%00b"],
    ["DEL", "a%7fb"],
    ["a space", "a%20b"],
    ["a plus", "a+b"],
    ["a backslash", "a%5Cb"],
    ["encoding within encoding", "a%252fb"],
    ["broken encoding", "a%zz"],
    ["bytes that are no UTF-8", "a%ff"],
    ["letters beyond ASCII", "%C3%A9t%C3%A9"],
    ["129 characters", "x".repeat(129)],
    ["2,000 characters", "x".repeat(2_000)],
  ])("a key with %s is refused on writing, and nothing is there to read or delete", async (_name, key) => {
    const written = await sendRaw("PUT", `/v1/skills/${key}`, ["content"]);
    expect([written.status, written.body.code, written.body.errors?.[0]?.pointer]).toEqual([422, "invalid", "{key}"]);
    for (const method of ["GET", "DELETE"]) {
      const reply = await sendRaw(method, `/v1/skills/${key}`);
      expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
    }
    expect((await sendRaw("GET", `/v1/skills/${key}/versions`)).status).toBe(404);
  });

  test.each(["a/b", "../tenants", "..", "%2e%2e", "a/../../x", "//x", ""])("no skill has the path %s", async (path) => {
    expect((await sendRaw("PUT", `/v1/skills/${path}`, ["content"])).status).toBe(404);
  });

  test.each([
    ["10 MB", "x".repeat(10_000_000), {}, 413, "body_too_large", undefined],
    ["a byte more than a mebibyte", "x".repeat(1024 * 1024 + 1), {}, 413, "body_too_large", undefined],
    ["nothing", "", {}, 422, "invalid", ""],
    ["bytes that are no UTF-8", new Uint8Array([0x61, 0xff]), {}, 422, "invalid", ""],
    ["half a surrogate pair in bytes", new Uint8Array([0xed, 0xa0, 0x80]), {}, 422, "invalid", ""],
    ["a character that is cut off", new Uint8Array([0x61, 0xe2, 0x82]), {}, 422, "invalid", ""],
    ["HTML", "x", { "Content-Type": "text/html" }, 415, "unsupported_media_type", undefined],
    ["JSON", "{}", { "Content-Type": "application/json" }, 415, "unsupported_media_type", undefined],
    ["another charset", "x", { "Content-Type": "text/plain; charset=latin1" }, 415, "unsupported_media_type", undefined],
    ["a type that only begins so", "x", { "Content-Type": "text/markdownish" }, 415, "unsupported_media_type", undefined],
    ["no type", "x", { "Content-Type": "" }, 415, "unsupported_media_type", undefined],
  ] as const)("a document of %s is refused", async (_name, content, headers, status, code, pointer) => {
    const reply = await put("refused", content, headers);
    expect([reply.status, reply.body.code, reply.body.errors?.[0]?.pointer]).toEqual([status, code, pointer]);
    expect((await get("refused")).status).toBe(404);
  });

  test("a document of 20 MB that tells no length is refused", async () => {
    const megabyte = new Uint8Array(1_000_000).fill(0x61);
    const { status, body } = await sendRaw(
      "PUT",
      "/v1/skills/endless",
      Array.from({ length: 20 }, () => megabyte),
    );
    expect([status, body.code]).toEqual([413, "body_too_large"]);
  });

  test.each(["?version=0", "?version=x", "?version=1.5", "?version="])("a version of %s is refused", async (query) => {
    await put("versioned", "x");
    const { status, body } = await get(`versioned${query}`);
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, "?version"]);
    expect((await get("versioned?colour=red")).status).toBe(400);
  });
});

describe("at once", () => {
  test("ten writers get a version each, and the last of them is read and listed", async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, (_, index) => put("raced", `content ${index}`)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    const written = replies.map(({ body }) => body).toSorted((a, b) => b.version - a.version);
    expect(new Set(written.map(({ version }) => version)).size).toBe(10);
    expect((await page("?prefix=raced")).data).toEqual([written[0]]);
    expect((await get("raced")).headers.get("ETag")).toBe(`"${written[0]?.version}"`);
  });

  test("of ten who expect the same version one writes", async () => {
    await put("expected", "content");
    const write = (_: unknown, index: number) =>
      put("expected", "content", { "If-Match": '"1"', "Skill-Description": `d${index}` });
    const statuses = (await Promise.all(Array.from({ length: 10 }, write))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 412)).toHaveLength(9);
  });
});

describe("when the catalog does not answer", () => {
  const withoutCatalog = async (work: () => Promise<void>) => {
    await plane.catalog("ALTER TABLE skills RENAME TO skills_away");
    await work();
    await plane.catalog("ALTER TABLE skills_away RENAME TO skills");
  };

  test("a write says so, and the same write again brings it into the list", async () => {
    await withoutCatalog(async () => {
      const { status, body, headers } = await put("unlisted", "content");
      expect([status, body.code, headers.get("Retry-After")]).toEqual([503, "unavailable", "2"]);
    });
    expect((await page("?prefix=unlisted")).data).toEqual([]);
    const again = await put("unlisted", "content");
    expect([again.status, again.body.version]).toEqual([200, 1]);
    expect((await page("?prefix=unlisted")).data).toEqual([again.body]);
  });

  test("so does one that expects what it had found", async () => {
    await withoutCatalog(async () => {
      expect((await put("unlisted-2", "content", { "If-None-Match": "*" })).status).toBe(503);
    });
    expect((await put("unlisted-2", "content", { "If-None-Match": "*" })).status).toBe(412);
    expect((await page("?prefix=unlisted-2")).data).toHaveLength(1);
  });

  test("a deletion says so, and the same deletion again takes it out of the list", async () => {
    await put("listed", "content");
    await withoutCatalog(async () => {
      expect((await remove("listed")).status).toBe(503);
    });
    expect((await page("?prefix=listed")).data).toHaveLength(1);
    expect((await remove("listed")).status).toBe(404);
    expect((await page("?prefix=listed")).data).toEqual([]);
  });
});

describe("another tenant", () => {
  test("has its own skill under the same key, and neither sees nor changes the other's", async () => {
    const other = await plane.tenant();
    await put("shared-name", "ours");
    expect((await get("shared-name", {}, other)).status).toBe(404);
    expect((await put("shared-name", "theirs", {}, other)).status).toBe(201);
    expect((await other.call("DELETE", "/v1/skills/shared-name")).status).toBe(204);
    expect((await get("shared-name")).body).toBe("ours");
    expect((await page("", other)).data).toEqual([]);
  });

  test.each([
    ["skills:read", "PUT", "skills:write"],
    ["skills:write", "GET", "skills:read"],
  ])("whose key has %s alone may not %s", async (scope, method, missing) => {
    const limited = await plane.tenant({}, [scope]);
    const reply = await limited.call(method, "/v1/skills/k", method === "PUT" ? "x" : undefined, MARKDOWN);
    expect([reply.status, reply.body["required_scope"]]).toEqual([403, missing]);
  });
});
