import { runDurableObjectAlarm } from "cloudflare:test";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type FactBatch, MAX_TEXT_UNITS, type TextFact } from "@sessionplane/shared/queue/fact";
import { type Sent, watchQueues } from "../testing/queues.ts";
import { RULES, type TestSession, append, message, opened, valueOf } from "../testing/session.ts";

let sent: Sent;
beforeEach(() => {
  sent = watchQueues();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const WRITE = { source: "server", rules: RULES } as const;
const put = (session: TestSession, id: string, text: string) =>
  session.rpc().putMessage({ message: message(id, text), ...WRITE });
const remove = (session: TestSession, ids: readonly string[], key: string) =>
  session.rpc().deleteMessages({ ids, idempotency: { key, fingerprint: "" }, ...WRITE });
const clear = (session: TestSession, key: string) =>
  session.rpc().clearMessages({ source: "server", idempotency: { key, fingerprint: "" } });

const batchesOf = (session: TestSession): FactBatch[] => sent.facts.filter((batch) => batch.session_id === session.sessionId);
async function drainAll(session: TestSession): Promise<void> {
  do await runDurableObjectAlarm(session.stub);
  while (batchesOf(session).at(-1)?.facts.at(-1)?.kind !== "session");
}
const textsOf = (session: TestSession): TextFact[] =>
  batchesOf(session).flatMap((batch) => batch.facts.filter((fact) => fact.kind === "text"));

/** The texts that are left when the facts are taken in, in this order, by the rules of an index. */
function indexed(batches: readonly FactBatch[]): string[] {
  const texts = new Map<number, { version: number; text: string | null }>();
  let first = 0;
  const change = (seq: number, version: number, text: string | null) => {
    if (version > (texts.get(seq)?.version ?? 0)) texts.set(seq, { version, text });
  };
  for (const fact of batches.flatMap((batch) => batch.facts)) {
    if (fact.kind === "text") change(fact.message_seq, fact.seq, fact.text);
    else if (fact.kind === "removal") for (const seq of fact.message_seqs) change(seq, fact.seq, null);
    else if (fact.kind === "clear") first = Math.max(first, fact.first_seq);
  }
  return [...texts].flatMap(([seq, { text }]) => (seq >= first && text !== null && text !== "" ? [text] : [])).toSorted();
}

describe("what the log says of texts", () => {
  test("is each message once, at its last change, and what was deleted", async () => {
    const session = await opened();
    await append(session, [message("a", "one"), message("b", "two"), message("c", "three"), message("d", "four")]);
    await put(session, "a", "one again");
    await remove(session, ["b", "c"], "k");
    await drainAll(session);
    const facts = batchesOf(session).flatMap((batch) => batch.facts);
    expect(facts).toMatchObject([
      { kind: "text", seq: 5, message_seq: 5, text: "four" },
      { kind: "text", seq: 6, message_seq: 2, text: "one again", role: "user" },
      { kind: "removal", seq: 7, message_seqs: [3, 4] },
      { kind: "clear", seq: 7, first_seq: 2 },
      { kind: "session" },
    ]);
  });

  test("fits the queue, whatever is written, and leaves no gap", async () => {
    const session = await opened({ compaction: { automatic: false } });
    await append(
      session,
      Array.from({ length: 40 }, (_, at) => message(`m${at}`, `${at} ${"\u0001".repeat(20_000)}`)),
    );
    await append(session, [message("long", "é".repeat(3_000_000))]);
    await append(
      session,
      Array.from({ length: 1_000 }, (_, at) => message(`s${at}`, `small ${at}`)),
    );
    await remove(
      session,
      Array.from({ length: 900 }, (_, at) => `s${at}`),
      "k",
    );
    for (let at = 0; at < 40; at++) await put(session, `m${at}`, `edited ${at} ${"\u0001".repeat(20_000)}`);
    await drainAll(session);
    const batches = batchesOf(session);
    batches.forEach((batch, index) => {
      expect(batch.after_seq).toBe(batches[index - 1]?.to_seq ?? 0);
      expect(JSON.stringify(batch).length).toBeLessThan(128_000);
    });
    const texts = textsOf(session).map((fact) => fact.text);
    expect(texts.filter((text) => text.startsWith("edited"))).toHaveLength(40);
    expect(texts.filter((text) => text.startsWith("small"))).toHaveLength(100);
    expect(texts.every((text) => text.length <= MAX_TEXT_UNITS)).toBe(true);
    expect(indexed(batches)).toHaveLength(141);
  });

  test(
    "is enough for an index after any writes, drains and a repair, in any order of the batches",
    { timeout: 120_000 },
    async () => {
      const id = fc.constantFrom("a", "b", "c", "d", "e");
      const step = fc.oneof(
        { weight: 5, arbitrary: fc.record({ kind: fc.constant("put" as const), id, text: fc.constantFrom("x", "y", "z", "") }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), ids: fc.uniqueArray(id, { minLength: 1 }) }) },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant("drain" as const) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const session = await opened();
          const model = new Map<string, string>();
          for (const [index, one] of steps.entries()) {
            if (one.kind === "put") {
              valueOf(await put(session, one.id, `${one.id}${one.text}`));
              model.set(one.id, `${one.id}${one.text}`);
            } else if (one.kind === "remove") {
              valueOf(await remove(session, one.ids, `k${index}`));
              for (const key of one.ids) model.delete(key);
            } else if (one.kind === "clear") {
              valueOf(await clear(session, `k${index}`));
              model.clear();
            } else await runDurableObjectAlarm(session.stub);
          }
          await drainAll(session);
          const expected = [...model.values()].toSorted();
          expect(indexed(batchesOf(session))).toEqual(expected);
          expect(indexed(batchesOf(session).toReversed())).toEqual(expected);
          sent.facts.length = 0;
          valueOf(await session.rpc().repair());
          await drainAll(session);
          expect(indexed(batchesOf(session))).toEqual(expected);
        }),
        { numRuns: 60 },
      );
    },
  );
});
