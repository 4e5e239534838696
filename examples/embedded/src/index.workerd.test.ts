/** The example as it is asked over HTTP. */
import { SELF, evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";

type Reply = { readonly status: number; readonly body: unknown };

async function at(path: string, message?: object): Promise<Reply> {
  const reply = await SELF.fetch(`https://example.com${path}`, message && { method: "POST", body: JSON.stringify(message) });
  return { status: reply.status, body: await reply.json() };
}

const said = (id: string, text = id) => ({ id, role: "user", parts: [{ type: "text", text }] });

async function idsAt(path: string): Promise<string[]> {
  const { body } = await at(path);
  return (body as { messages: { id: string }[] }).messages.map(({ id }) => id);
}

test("one object keeps several conversations, with branches, over an eviction", async () => {
  expect((await at("/support", said("m1"))).status).toBe(201);
  expect((await at("/support", said("m1"))).status).toBe(200);
  expect((await at("/sales", said("m1", "of sales"))).status).toBe(201);
  await at("/support", said("m2"));
  await at("/support?parent=m1", said("other"));
  await evictDurableObject(env.ASSISTANT.getByName("the user"));
  expect(await idsAt("/support")).toEqual(["m1", "other"]);
  expect(await idsAt("/support?leaf=m2")).toEqual(["m1", "m2"]);
  expect(await idsAt("/sales")).toEqual(["m1"]);
});

test("what can't be done is refused with its code", async () => {
  expect(await at("/refused?parent=nothing", said("m1"))).toMatchObject({ status: 422, body: { code: "unknown_parent" } });
  expect(await at("/refused", { ...said("m1"), role: "system" })).toMatchObject({ body: { code: "role_not_allowed" } });
});

test("a long conversation is compacted by itself", async () => {
  for (let index = 0; index < 20; index++) await at("/long", said(`m${index}`, "word ".repeat(100)));
  const ids = await idsAt("/long");
  expect(ids.slice(0, 3)).toEqual(["m0", "m1", "m2"]);
  expect(ids[3]).toMatch(/^compaction_/);
  expect(ids.at(-1)).toBe("m19");
  expect(ids.length).toBeLessThan(20);
});

test("a model's tool writes the memory, and the prompt that is in use stays", async () => {
  await at("/memory", said("m1"));
  const { body: first } = await at("/memory");
  expect(first).toMatchObject({ system: expect.stringContaining("MEMORY (Learned facts about the user)") });
  const { body } = await at("/memory?tool=set_context", { label: "memory", content: "Likes coffee." });
  expect(body).toBe("Written to memory. Usage: 1% (4/500 tokens)");
  expect((await at("/memory")).body).toEqual(first);
});
