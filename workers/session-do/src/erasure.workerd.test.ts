/** What an erasure takes, what it leaves, and that nothing late undoes it. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Erasure } from "@sessionplane/shared/erasure";
import type { JobId } from "@sessionplane/shared/ids";
import type { Problem } from "@sessionplane/shared/problem";
import type { Result } from "@sessionplane/shared/result";
import { COMMIT, MANUAL, claim, due, edit, failure, once } from "./testing/jobs.ts";
import { type Sent, watchQueues } from "./testing/queues.ts";
import {
  RULES,
  type TestSession,
  append,
  conversation,
  errorOf,
  message,
  open,
  opened,
  unopened,
  usage,
  valueOf,
} from "./testing/session.ts";

let sent: Sent;
beforeEach(() => {
  sent = watchQueues();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const erase = async (session: TestSession): Promise<Erasure> => valueOf(await session.rpc().erase({}));
const receipt = async (session: TestSession): Promise<Erasure> => valueOf(await session.rpc().readErasure());
const attachment = (bytes: Uint8Array) => ({
  ...{ id: "picture", role: "user" as const },
  parts: [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${Buffer.from(bytes).toString("base64")}` }],
});
const large = () => ({ ...attachment(Buffer.alloc(300_000, "heron ")), id: "large" });
const objectsOf = async ({ tenantId, sessionId }: TestSession) =>
  (await env.CONTENT.list({ prefix: `${tenantId}/${sessionId}/` })).objects.length;

/** All that the object's database holds, as text, by table. */
const dump = (session: TestSession): Promise<Map<string, string>> =>
  runInDurableObject(session.newStub(), (_instance, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'");
    const text = (value: unknown) => (value instanceof ArrayBuffer ? Buffer.from(value).toString("latin1") : String(value));
    return new Map(
      tables.toArray().map(({ name }) => {
        const rows = [...sql.exec(`SELECT * FROM [${name}]`).raw()];
        return [name, rows.map((row) => row.map(text).join("|")).join("\n")] as const;
      }),
    );
  });

/** A session that says heron in every place where it keeps something of anyone's. Its user's id is in the ledger too. */
async function full(): Promise<TestSession> {
  const session = await opened({
    name: "the heron",
    external_id: "heron",
    user_id: "user-17",
    tags: ["heron"],
    metadata: { heron: "heron" },
  });
  const rpc = session.rpc();
  const said = [...conversation(20, 20), message("big", "heron ".repeat(300_000)), message("heron", "a heron")];
  await append(session, [...said, attachment(Buffer.from("heron")), large()], { rules: MANUAL, idempotency: once() });
  await edit(session, "m5", "the heron flew", MANUAL);
  valueOf(await rpc.addOverlay({ summary: "heron", from_id: "m1", to_id: "m3", idempotency: once() }));
  valueOf(await rpc.requestCompaction({ rules: MANUAL }));
  valueOf(await rpc.putBlock({ label: "heron", block: { kind: "search", description: "heron" }, idempotency: once() }));
  valueOf(await rpc.putEntry({ label: "heron", key: "heron", entry: { content: "heron" }, idempotency: once() }));
  valueOf(await rpc.readPrompt());
  valueOf(await rpc.search({ q: "heron", limit: 5, created: { from: 0, before: Number.MAX_SAFE_INTEGER } }));
  valueOf(await rpc.recordUsage({ events: [usage("paid")], idempotency: once() }));
  return session;
}

describe("an erasure", () => {
  test("leaves no word in any table, and the usage", async () => {
    const session = await full();
    const before = await dump(session);
    const holding = [...before].filter(([, rows]) => rows.includes("heron")).map(([name]) => name);
    const kept = [
      "messages",
      "continuations",
      "media",
      "overlays",
      "blocks",
      "entries",
      "prompt",
      "session",
      "search_index_data",
    ];
    expect(holding).toEqual(expect.arrayContaining(kept));
    const { stores, kept: left, ...rest } = await erase(session);
    expect(stores.session.removed).toEqual({ messages: 24, overlays: 1, jobs: 1, blocks: 1, entries: 1, attachments: 2 });
    expect([left, rest.status, stores.objects, stores.catalog.status]).toEqual([
      { usage_events: 1 },
      "running",
      { status: "running", left: 1 },
      "running",
    ]);
    await evictDurableObject(session.stub);
    const after = await dump(session);
    expect([...after].filter(([, rows]) => rows.includes("heron"))).toEqual([]);
    const nonEmpty = [...after].flatMap(([name, rows]) => (rows === "" ? [] : [name]));
    const mayHold = [
      "_migrations",
      "erasure",
      "idempotency",
      "media_trash",
      "session",
      "sqlite_sequence",
      "tree",
      "usage_events",
    ];
    expect(nonEmpty.filter((name) => !mayHold.includes(name))).toEqual([]);
    const [paid] = valueOf(await session.rpc().listUsageEvents({ limit: 2 })).items;
    expect([paid?.id, paid?.user_id, after.get("session")?.includes("user-17")]).toEqual(["paid", "user-17", false]);
  });

  test("is complete once R2 and the catalog have followed, and stays so when everything is told again", async () => {
    const session = await full();
    expect(await objectsOf(session)).toBe(1);
    const begun = await erase(session);
    await runDurableObjectAlarm(session.stub);
    expect(await objectsOf(session)).toBe(0);
    expect((await receipt(session)).stores).toMatchObject({
      objects: { status: "erased", left: 0 },
      catalog: { status: "running" },
    });
    const batches = sent.facts.filter((batch) => batch.session_id === session.sessionId);
    const facts = batches.flatMap((batch) => batch.facts);
    expect(JSON.stringify(facts.filter(({ kind }) => kind !== "usage"))).not.toContain("heron");
    expect(facts.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["usage", "clear", "session"]));
    expect(facts.findLast((fact) => fact.kind === "session")).toMatchObject({
      status: "erased",
      message_count: 0,
      usage: { events: 1 },
    });
    for (const { after_seq: after, to_seq: to } of batches) await session.rpc().projected(after, to);
    const done = await receipt(session);
    expect(done).toMatchObject({ id: begun.id, status: "complete", stores: { catalog: { status: "erased" } } });
    expect(await erase(session)).toEqual(done);
    valueOf(await session.rpc().repair());
    await evictDurableObject(session.stub);
    expect(await receipt(session)).toEqual(done);
  });

  test("is refused for another revision than the one that is named", async () => {
    const session = await opened();
    expect(errorOf(await session.rpc().erase({ if_match: 7 })).code).toBe("precondition_failed");
    expect(errorOf(await session.rpc().readErasure()).code).toBe("not_found");
    expect(valueOf(await session.rpc().erase({ if_match: 1 })).status).toBe("running");
  });

  test("of what never was is not found, and stores nothing", async () => {
    const session = unopened();
    for (const refused of [await session.rpc().erase({}), await session.rpc().readErasure()])
      expect(errorOf(refused).code).toBe("not_found");
    expect(await dump(session)).toEqual(new Map());
  });

  test.each(["append:written", "append:armed"] as const)("may be asked for again when the object died at %s", async (point) => {
    const session = await full();
    await session.rpc().armFault(point);
    await session
      .rpc()
      .erase({})
      .catch(() => null);
    const { id } = await erase(session);
    expect([...(await dump(session)).values()].join()).not.toContain("heron");
    expect((await erase(session)).id).toBe(id);
  });
});

describe("an erased session", () => {
  const job = "job_01m8njhpeqfqevy1hhgmpwnanv" as JobId;
  const page = { view: "raw", order: "asc", limit: 10 } as const;
  const idempotency = once();
  const write = { source: "server", rules: RULES, idempotency } as const;
  type Rpc = ReturnType<TestSession["rpc"]>;
  const methods: readonly (readonly [string, (rpc: Rpc) => Promise<Result<unknown, Problem>>])[] = [
    ["describe", (rpc) => rpc.describe(RULES)],
    ["patch", (rpc) => rpc.patch({ patch: { name: "x" }, rules: RULES })],
    ["end", (rpc) => rpc.end({ reason: "x", rules: RULES })],
    ["append", (rpc) => rpc.append({ messages: [message("a")], ...write })],
    ["append of a large attachment", (rpc) => rpc.append({ messages: [large()], ...write })],
    ["readHistory", (rpc) => rpc.readHistory(page)],
    ["readHistory inline", (rpc) => rpc.readHistory({ ...page, attachments: "inline" })],
    ["streamHistory", (rpc) => rpc.streamHistory(page)],
    ["streamEvents", (rpc) => rpc.streamEvents({ after: 0 })],
    ["exportSession", (rpc) => rpc.exportSession({})],
    ["getMessage", (rpc) => rpc.getMessage({ id: "m1" })],
    ["putMessage", (rpc) => rpc.putMessage({ message: message("m1"), ...write })],
    ["patchMessage", (rpc) => rpc.patchMessage({ id: "m1", patch: { toolCallId: "c", output: 1 }, ...write })],
    ["deleteMessages", (rpc) => rpc.deleteMessages({ ids: ["m1"], ...write })],
    ["clearMessages", (rpc) => rpc.clearMessages(write)],
    ["chooseLeaf", (rpc) => rpc.chooseLeaf({ leaf_id: "m1" })],
    ["listBranches", (rpc) => rpc.listBranches({ id: null, limit: 1 })],
    ["listLeaves", (rpc) => rpc.listLeaves({ limit: 1 })],
    ["readStats", (rpc) => rpc.readStats({ limit: 1 })],
    ["search", (rpc) => rpc.search({ q: "a", limit: 5, created: { from: 0, before: 1 } })],
    ["showHits", (rpc) => rpc.showHits({ q: "a", places: [] })],
    ["listBlocks", (rpc) => rpc.listBlocks()],
    ["putBlock", (rpc) => rpc.putBlock({ label: "a", block: { kind: "writable" }, idempotency })],
    ["deleteBlock", (rpc) => rpc.deleteBlock({ label: "a", idempotency })],
    ["putEntry", (rpc) => rpc.putEntry({ label: "a", key: "k", entry: { content: "c" }, idempotency })],
    ["readPrompt", (rpc) => rpc.readPrompt()],
    ["refreshPrompt", (rpc) => rpc.refreshPrompt()],
    ["listTools", (rpc) => rpc.listTools()],
    ["listLoadedSkills", (rpc) => rpc.listLoadedSkills()],
    ["requestCompaction", (rpc) => rpc.requestCompaction({ rules: RULES })],
    ["planCompaction", (rpc) => rpc.planCompaction({ rules: RULES })],
    ["addOverlay", (rpc) => rpc.addOverlay({ summary: "s", from_id: "m1", to_id: "m2", idempotency })],
    ["listOverlays", (rpc) => rpc.listOverlays({ limit: 1 })],
    ["listJobs", (rpc) => rpc.listJobs({ limit: 1 })],
    ["getJob", (rpc) => rpc.getJob(job)],
  ];

  let erased: TestSession;
  beforeEach(async () => {
    erased ??= await full();
    await erase(erased);
  });

  test.each(methods)("says so to %s", async (_name, call) => {
    const { id, erased_at: at } = await receipt(erased);
    expect(errorOf(await call(erased.rpc()))).toMatchObject({ code: "erased", fields: { erasure_id: id, erased_at: at } });
  });

  test("does not come back by being opened or imported again", async () => {
    expect(errorOf(await open(erased)).code).toBe("erased");
    const { tenantId: tenant_id, sessionId: session_id } = erased;
    expect(errorOf(await erased.rpc().stageImport({ tenant_id, session_id, first: true, lines: [] })).code).toBe(
      "already_exists",
    );
    await erased.rpc().abandonImport();
    expect((await receipt(erased)).session_id).toBe(session_id);
  });

  test("takes usage and corrections of calls that were made", async () => {
    const before = valueOf(await erased.rpc().readUsage()).usage.events;
    const [first] = valueOf(await erased.rpc().recordUsage({ events: [usage("late")] })).value;
    expect(first?.status).toBe("created");
    const { lines, input_tokens, output_tokens, raw_usage } = usage("x", { lines: [] });
    const to = { lines, input_tokens, output_tokens, raw_usage };
    const adjusted = await erased.rpc().adjustUsage({ event_id: "late", id: "use_x", reason: "r", to, idempotency: once() });
    expect(valueOf(adjusted).value.changed).toBe(true);
    expect(valueOf(await erased.rpc().explainUsageEvent("late")).event_id).toBe("late");
    expect(valueOf(await erased.rpc().readUsage()).usage.events).toBe(before + 1);
  });
});

describe("what comes after an erasure", () => {
  test("a compactor's summary goes nowhere, and its calls are billed", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    await erase(session);
    const call = { ...COMMIT, usage: [usage("call")] };
    expect(errorOf(await session.rpc().readJobRange(id, fence, 0)).code).toBe("not_found");
    expect(errorOf(await session.rpc().commitJob(id, fence, call)).code).toBe("not_found");
    expect(errorOf(await session.rpc().failJob(id, fence, failure("retry"))).code).toBe("not_found");
    expect(errorOf(await session.rpc().claimJob(id)).code).toBe("not_found");
    for (let times = 0; times < 2; times++) valueOf(await session.rpc().recordJobUsage(id, call.usage));
    expect(valueOf(await session.rpc().readUsage()).usage.events).toBe(1);
    expect((await dump(session)).get("overlays")).toBe("");
  });

  test("an upload that was under way leaves nothing in R2", async () => {
    const session = await opened();
    const put = env.CONTENT.put.bind(env.CONTENT);
    let meanwhile: Promise<unknown> = Promise.resolve();
    vi.spyOn(Object.getPrototypeOf(env.CONTENT) as R2Bucket, "put").mockImplementationOnce(
      async (...args: Parameters<typeof put>) => {
        meanwhile = erase(session);
        await meanwhile;
        return put(...args);
      },
    );
    const written = await session.rpc().append({ messages: [large()], source: "server", rules: RULES });
    expect(errorOf(written).code).toBe("erased");
    expect(await objectsOf(session)).toBe(1);
    await runDurableObjectAlarm(session.stub);
    expect(await objectsOf(session)).toBe(0);
    expect((await receipt(session)).stores.objects.left).toBe(0);
  });

  test("a listener's stream ends", async () => {
    const session = await opened();
    const stream = valueOf(await session.rpc().streamEvents({ after: 0 }));
    const reading = new Response(stream).text();
    await erase(session);
    expect(await reading).toContain("id: 0");
  });
});

describe("a stream that was under way", () => {
  type Rpc = ReturnType<TestSession["rpc"]>;
  test.each([
    ["streamHistory", (rpc: Rpc) => rpc.streamHistory({ view: "raw", order: "asc" })],
    ["exportSession", (rpc: Rpc) => rpc.exportSession({})],
  ] as const)("%s ends with an error, and not as if it were whole", async (_name, start) => {
    const session = await opened();
    for (const prefix of ["a", "b", "c", "d"]) await append(session, conversation(100, 10_000, prefix));
    const reader = valueOf(await start(session.rpc())).getReader();
    expect((await reader.read()).done).toBe(false);
    await erase(session);
    const end = async () => {
      while (!(await reader.read()).done);
      return "whole";
    };
    await expect(end()).rejects.toThrow("disconnected prematurely");
  });
});
