import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isReservedMessageId } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";
import type { HistoryItem, HistoryQuery } from "@sessionplane/shared/rpc/session-rpc";
import { RULES, type TestSession, append, opened, valueOf } from "../testing/session.ts";

const KEEP_RECENT = 4;
const ALL = { view: "history", order: "asc", limit: 200 } as const;

const toolMessage = (id: string): Message => ({
  id,
  role: "assistant",
  parts: [{ type: "tool-read", toolCallId: id, state: "output-available", input: {}, output: "x".repeat(600) }],
});
const read = async (session: TestSession, query: Partial<HistoryQuery>): Promise<readonly HistoryItem[]> =>
  valueOf(await session.rpc().readHistory({ ...ALL, ...query })).items;

/** Summaries from one message to another, put into the table behind the object's back. */
async function addOverlays(session: TestSession, ranges: readonly (readonly [from: string, to: string])[]): Promise<void> {
  await runInDurableObject(session.stub, (_instance, state) => {
    for (const [index, [from, to]] of ranges.entries())
      state.storage.sql.exec(
        `INSERT INTO overlays (seq, id, from_seq, to_seq, from_id, to_id, summary, messages, tokens_before, tokens_after, created_at)
         SELECT ?, ?, a.seq, b.seq, a.id, b.id, ?, 1 + b.ordinal - a.ordinal, 10, 1, 1 FROM messages a, messages b WHERE a.id = ? AND b.id = ?`,
        ...[1_000 + index, `ovl_${index}`, "s".repeat(10_001), from, to],
      );
  });
  await evictDurableObject(session.stub);
}

const cases = fc.record({
  count: fc.integer({ min: 1, max: 24 }),
  deleted: fc.array(fc.nat(23), { maxLength: 4 }),
  branchAt: fc.option(fc.nat(23)),
  overlays: fc.array(fc.tuple(fc.nat(23), fc.nat(6)), { maxLength: 3 }),
  step: fc.integer({ min: 1, max: 9 }),
  view: fc.constantFrom("history" as const, "raw" as const),
  order: fc.constantFrom("asc" as const, "desc" as const),
});

test("what is older is counted in the history as it is read, whatever was deleted, summarised and branched", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ count, deleted, branchAt, overlays, step, view, order }) => {
      const session = await opened({ compaction: { automatic: false } });
      const ids = Array.from({ length: count }, (_, index) => `m${index}`);
      await append(session, ids.map(toolMessage));
      if (branchAt !== null && branchAt < count)
        await append(session, ["b0", "b1", "b2"].map(toolMessage), { parent_id: `m${branchAt}` });
      const gone = [...new Set(deleted)].filter((at) => at < count).map((at) => `m${at}`);
      if (gone.length > 0)
        valueOf(
          await session.rpc().deleteMessages({
            ids: gone,
            source: "server",
            rules: RULES,
            idempotency: { key: "k", fingerprint: "f" },
          }),
        );
      const left = ids.filter((id) => !gone.includes(id));
      const ranges = overlays.flatMap(([from, length]) => {
        const [first, last] = [left[from], left[from + length]];
        return first === undefined || last === undefined ? [] : [[first, last] as const];
      });
      await addOverlays(session, ranges);
      const plain = await read(session, { view, order });
      const cut = await read(session, { view, order, truncate_older: step });
      expect(cut.map(({ meta }) => meta.id)).toEqual(plain.map(({ meta }) => meta.id));
      const older = Math.floor(Math.max(0, plain.length - KEEP_RECENT) / step) * step;
      const isCut = cut.map(({ json }, index) => json !== plain[index]?.json);
      const oldestFirst = order === "asc" ? plain : plain.toReversed();
      // Summaries are never cut.
      const expected = oldestFirst.map(({ meta }, index) => index < older && !isReservedMessageId(meta.id));
      expect(order === "asc" ? isCut : isCut.reverse()).toEqual(expected);
    }),
    { numRuns: 40 },
  );
});
