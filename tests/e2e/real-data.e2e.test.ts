import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { batches, parseConversations } from "../../scripts/demo/conversation.ts";
import { type Plane, type Tenant, startPlane, until } from "../support/harness.ts";
import { realData } from "../support/real-data.ts";

const trajectories = realData("airline-trajectories.jsonl");
const trees = realData("oasst-trees.jsonl");

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 3_000, keep_recent_tokens: 800 } });
});
afterAll(() => plane.close());

type Conversation = ReturnType<typeof parseConversations>[number];
type Shown = { id: string; parts: unknown[] };

async function importAll(conversation: Conversation): Promise<string> {
  const session = await plane.session(tenant, { name: conversation.name });
  for (const { messages, parentId } of batches(conversation, 10)) {
    const { status } = await tenant.call("POST", `/v1/sessions/${session}/messages`, {
      messages,
      ...(parentId === undefined ? {} : { parent_id: parentId }),
    });
    expect(status).toBe(201);
  }
  return session;
}

async function pathTo(session: string, leafId: string | undefined, view: "raw" | "history"): Promise<Shown[]> {
  const leaf = leafId === undefined ? "" : `&leaf_id=${encodeURIComponent(leafId)}`;
  return (await tenant.call<{ data: Shown[] }>("GET", `/v1/sessions/${session}/messages?limit=100&view=${view}${leaf}`)).body
    .data;
}

type Call = { readonly id: string; readonly answered: boolean };

const callsOf = (messages: readonly Shown[]): Call[] =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      typeof part === "object" && part !== null && "toolCallId" in part
        ? [{ id: String(part.toolCallId), answered: "output" in part }]
        : [],
    ),
  );

/** Calls on one side whose result is on the other. An id that a model used twice, answered each time, is no such call. */
const separated = (one: readonly Shown[], other: readonly Shown[]): string[] =>
  callsOf(one).flatMap((call) => (!call.answered && callsOf(other).some((result) => result.id === call.id) ? [call.id] : []));

/** What an export makes of it is what an export gives again. */
async function expectRoundTrip(session: string): Promise<void> {
  const exportOf = async (id: string) => (await tenant.call<string>("GET", `/v1/sessions/${id}/export`)).body;
  const exported = await exportOf(session);
  const headers = { "Content-Type": "application/x-ndjson" };
  const { status, body } = await tenant.call<{ id: string }>("POST", "/v1/sessions/import", exported, headers);
  expect(status).toBe(201);
  expect(await exportOf(body.id)).toBe(exported);
}

describe("real conversations", () => {
  test.skipIf(trajectories === null)(
    "come back as they were, and long ones compact with every tool call whole",
    async () => {
      const conversations = parseConversations(trajectories ?? "");
      expect(conversations).toHaveLength(60);
      const sessions = [];
      for (const conversation of conversations) sessions.push({ conversation, session: await importAll(conversation) });

      let compacted = 0;
      for (const { conversation, session } of sessions) {
        const originals = conversation.appends.map((append) => append.message);
        await until(
          "no job to be open",
          async () =>
            (await tenant.call<{ compaction: { open_job_id: string | null } }>("GET", `/v1/sessions/${session}`)).body.compaction
              .open_job_id === null,
        );
        expect(await pathTo(session, undefined, "raw")).toEqual(originals);
        const shown = await pathTo(session, undefined, "history");
        const summarised = originals.filter((message) => !shown.some((one) => one.id === message.id));
        expect([...separated(summarised, shown), ...separated(shown, summarised)]).toEqual([]);
        if (summarised.length > 0) compacted += 1;
        await expectRoundTrip(session);
      }
      expect(compacted).toBeGreaterThan(30);
    },
    240_000,
  );

  test.skipIf(trees === null)(
    "come back with every branch",
    async () => {
      const conversations = parseConversations(trees ?? "");
      expect(conversations).toHaveLength(60);
      for (const conversation of conversations) {
        const session = await importAll(conversation);
        const parents = new Map(conversation.appends.map((append) => [append.message.id, append.parentId ?? null]));
        const byId = new Map(conversation.appends.map((append) => [append.message.id, append.message]));
        const leaves = [...parents.keys()].filter((id) => ![...parents.values()].includes(id));
        for (const leaf of leaves) {
          const expected = [];
          for (let at: string | null = leaf; at !== null; at = parents.get(at) ?? null) expected.unshift(byId.get(at));
          expect(await pathTo(session, leaf, "raw")).toEqual(expected);
        }
        await expectRoundTrip(session);
      }
    },
    240_000,
  );
});
