import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

type Message = { id: string; role: string; parts: Record<string, unknown>[] };
type History = {
  data: Message[];
  meta: { id: string; bytes: number; token_estimate: number }[];
  truncated: boolean;
  next_cursor: string | null;
};

const LONG = "x".repeat(4_000);
const read = (id: string, more: object = {}): Message => ({
  id,
  role: "assistant",
  parts: [
    {
      type: "tool-read",
      toolCallId: `call ${id}`,
      state: "output-available",
      input: { path: id },
      output: { path: id, content: LONG, lines: 1 },
      ...more,
    },
  ],
});
const reads = (count: number, from = 0): Message[] => Array.from({ length: count }, (_, index) => read(`m${from + index}`));

async function conversation(messages: readonly object[]): Promise<string> {
  const path = `/v1/sessions/${await plane.session(tenant)}`;
  await append(path, messages);
  return path;
}
const append = async (path: string, messages: readonly object[]): Promise<void> =>
  expect((await tenant.call("POST", `${path}/messages`, { messages })).status).toBe(201);
const history = async (path: string, query: string): Promise<History> =>
  (await tenant.call<History>("GET", `${path}/messages?${query}`)).body;
const streamed = async (path: string, query: string): Promise<Message[]> => {
  const { body } = await tenant.call<string>("GET", `${path}/messages?${query}`, undefined, { Accept: "application/x-ndjson" });
  return body
    .split("\n")
    .slice(0, -1)
    .map((line): Message => JSON.parse(line));
};
async function everyPage(path: string, query: string): Promise<Message[]> {
  const found: Message[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: History = await history(path, cursor === "" ? query : `${query}&cursor=${cursor}`);
    found.push(...page.data);
    cursor = page.next_cursor;
  }
  return found;
}
const isCut = ({ parts }: Message): boolean => JSON.stringify(parts[0]?.["output"]).length <= 500;
const cutOf = (messages: readonly Message[]): string[] => messages.filter(isCut).map(({ id }) => id);

describe("a read with truncate_older", () => {
  test("cuts the outputs of all but the newest four, with their shape, and changes nothing stored", async () => {
    const path = await conversation(reads(10));
    const { data, meta } = await history(path, "limit=100&truncate_older=1");
    expect(cutOf(data)).toEqual(["m0", "m1", "m2", "m3", "m4", "m5"]);
    expect(data[0]?.parts[0]?.["output"]).toMatchObject({ path: "m0", lines: 1 });
    expect(data.slice(6)).toEqual(reads(4, 6));
    const plain = await history(path, "limit=100");
    expect(plain.data).toEqual(reads(10));
    expect(meta[0]?.bytes).toBe(JSON.stringify(data[0]).length);
    expect(meta[0]?.token_estimate).toBeLessThan(plain.meta[0]?.token_estimate ?? 0);
    expect(meta.slice(6)).toEqual(plain.meta.slice(6));
  });

  test("gives the same in pages of both orders and as a stream", async () => {
    const path = await conversation(reads(13));
    const { data } = await history(path, "limit=100&truncate_older=3");
    expect(cutOf(data)).toHaveLength(9);
    expect(await everyPage(path, "limit=2&truncate_older=3")).toEqual(data);
    expect((await everyPage(path, "limit=5&truncate_older=3&order=desc")).reverse()).toEqual(data);
    expect(await streamed(path, "truncate_older=3")).toEqual(data);
    expect((await streamed(path, "truncate_older=3&order=desc")).reverse()).toEqual(data);
  });

  test("goes on as it began when messages are written and deleted meanwhile", async () => {
    const path = await conversation(reads(10));
    const first = await history(path, "limit=3&truncate_older=1");
    await append(path, reads(10, 10));
    await tenant.call("DELETE", `${path}/messages/m1`);
    const rest = await history(path, `limit=100&truncate_older=1&cursor=${first.next_cursor}`);
    expect(cutOf([...first.data, ...rest.data])).toEqual(["m0", "m1", "m2", "m3", "m4", "m5"]);
    expect(cutOf((await history(path, "limit=100&truncate_older=1")).data)).toHaveLength(15);
  });

  test("counts for a window what is left: more messages fit", async () => {
    const path = await conversation(reads(30));
    const [plain, cut] = [await history(path, "max_bytes=24000"), await history(path, "max_bytes=24000&truncate_older=1")];
    expect([plain.data.length, cutOf(cut.data).length, cut.truncated]).toEqual([5, 11, true]);
    const tokens = await history(path, "max_tokens=6000&truncate_older=1&order=desc");
    expect(tokens.data.length).toBeGreaterThan((await history(path, "max_tokens=6000")).data.length);
    expect(tokens.data[0]?.id).toBe("m29");
  });

  test("with a step of eight begins, byte for byte, as the read before it seven times out of eight", async () => {
    const path = await conversation(reads(8));
    const kept: boolean[] = [];
    let before: Message[] = [];
    for (let count = 8; count < 30; count += 1) {
      const { data } = await history(path, "limit=100&truncate_older=8");
      kept.push(before.every((message, index) => JSON.stringify(message) === JSON.stringify(data[index])));
      before = data;
      await append(path, reads(1, count));
    }
    expect(kept.flatMap((same, index) => (same ? [] : [8 + index]))).toEqual([12, 20, 28]);
  });

  test("counts the messages of the branch that is read", async () => {
    const path = await conversation(reads(6));
    await tenant.call("POST", `${path}/messages`, { message: read("b"), parent_id: "m3" });
    expect(cutOf((await history(path, "truncate_older=1")).data)).toEqual(["m0"]);
    expect(cutOf((await history(path, "truncate_older=1&leaf_id=m5")).data)).toEqual(["m0", "m1"]);
  });

  test("fills in attachments where their links still stand, and nowhere else", async () => {
    const picture = Buffer.from("a small picture").toString("base64");
    const image = { mediaType: "image/png", data: picture };
    const shots = (output: unknown) => read("shot", { output });
    const many = Array.from({ length: 40 }, () => ({ image, caption: "y".repeat(100) }));
    const messages = [
      shots({ image, note: "short" }),
      { ...shots({ image: { ...image, more: LONG }, text: LONG }), id: "cut" },
      { ...shots({ many, deep: { many } }), id: "list" },
      ...["1", "2", "3", "4"].map((id) => text(id, "user", id)),
    ];
    const path = await conversation(messages);
    const { data } = await history(path, "truncate_older=1&attachments=inline");
    expect(data[0]).toEqual(messages[0]);
    expect([data[1], data[2]].map((message) => JSON.stringify(message).includes(picture))).toEqual([false, false]);
    expect([data[1], data[2]].every((message) => message !== undefined && isCut(message))).toBe(true);
    expect(await streamed(path, "truncate_older=1&attachments=inline")).toEqual(data);
    expect((await history(path, "attachments=inline")).data).toEqual(messages);
    const weight = await history(path, "truncate_older=1&attachments=inline&max_bytes=2500");
    expect(weight.data).toHaveLength(7);
  });

  test.each(["0", "-1", "1.5", "x", ""])("of %j is refused", async (value) => {
    const path = await conversation(reads(1));
    const { status, body } = await tenant.call<{ errors: { pointer: string }[] }>(
      "GET",
      `${path}/messages?truncate_older=${value}`,
    );
    expect([status, body.errors[0]?.pointer]).toEqual([422, "?truncate_older"]);
  });
});
