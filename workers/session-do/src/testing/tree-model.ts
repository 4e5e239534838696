/**
 * The tree as it should be: parent pointers, overlays as lists of what they stand for, nothing clever. The
 * object is compared with it after every step of a random course. Tests inside workerd alone import it.
 */
import { evictDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { Message } from "@sessionplane/shared/message";
import type { HistoryPlace, TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { estimateMessage } from "@sessionplane/engine/tokens/estimate";
import { RULES, type TestSession, append, message, valueOf } from "./session.ts";

type Node = { readonly message: Message; parent: string | null };
type ModelOverlay = {
  readonly id: string;
  readonly covered: readonly string[];
  readonly tokensAfter: number;
  stale: boolean;
};

/** A policy by which anything may be compacted by hand, and nothing is by itself. */
const HANDS_ON: TenantRules = {
  ...RULES,
  compaction: { automatic: false, protect_head: 1, keep_recent_tokens: 0, min_tail: 1, min_gain: 0, cooldown_messages: 0 },
};

const WRITE = { source: "server", rules: HANDS_ON } as const;

export class TreeModel {
  /** In the order in which they were written. */
  readonly nodes = new Map<string, Node>();
  overlays: ModelOverlay[] = [];
  leaf: string | null = null;
  /** A read that stopped after its first page: the leaf that it goes to, and its last message. */
  held: { leaf: string | null; readonly last: string; readonly place: HistoryPlace } | null = null;
  written = 0;

  nextId(): string {
    this.written += 1;
    return `m${this.written}`;
  }

  path(leaf: string | null): string[] {
    const path: string[] = [];
    for (let at = leaf; at !== null; at = this.nodes.get(at)?.parent ?? null) path.unshift(at);
    return path;
  }

  children(parent: string | null): string[] {
    return [...this.nodes].filter(([, node]) => node.parent === parent).map(([id]) => id);
  }

  leaves(): string[] {
    return [...this.nodes.keys()].filter((id) => this.children(id).length === 0);
  }

  tokens(id: string): number {
    const node = this.nodes.get(id);
    return node === undefined ? 0 : estimateMessage(node.message);
  }

  /** Overlays wholly on the path: the longest first, the newest of equals. */
  standing(path: readonly string[]): ModelOverlay[] {
    const taken = new Set<string>();
    return this.overlays
      .toReversed()
      .filter(({ covered }) => covered.every((id) => path.includes(id)))
      .toSorted((a, b) => b.covered.length - a.covered.length)
      .filter(({ covered }) => {
        if (covered.some((id) => taken.has(id))) return false;
        for (const id of covered) taken.add(id);
        return true;
      });
  }

  history(leaf: string | null): string[] {
    const path = this.path(leaf);
    const standing = this.standing(path);
    return path.flatMap((id) => {
      const over = standing.find(({ covered }) => covered.includes(id));
      if (over === undefined) return [id];
      return over.covered[0] === id ? [`compaction_${over.id}`] : [];
    });
  }

  historyTokens(leaf: string | null): number {
    const path = this.path(leaf);
    const sum = (ids: readonly string[]): number => ids.reduce((total, id) => total + this.tokens(id), 0);
    return this.standing(path).reduce((total, one) => total - sum(one.covered) + one.tokensAfter, sum(path));
  }

  delete(ids: readonly string[]): void {
    this.overlays = this.overlays.filter(({ covered }) => !covered.some((id) => ids.includes(id)));
    const surviving = (id: string | null): string | null =>
      id !== null && ids.includes(id) ? surviving(this.nodes.get(id)?.parent ?? null) : id;
    this.leaf = surviving(this.leaf);
    if (this.held !== null) this.held.leaf = surviving(this.held.leaf);
    for (const node of this.nodes.values()) node.parent = surviving(node.parent);
    for (const id of ids) this.nodes.delete(id);
  }
}

export type Step =
  | { readonly kind: "append"; readonly below: "leaf" | "root" | number; readonly count: number }
  | { readonly kind: "repeat"; readonly at: number }
  | { readonly kind: "edit"; readonly at: number; readonly length: number }
  | { readonly kind: "delete"; readonly at: readonly number[] }
  | { readonly kind: "choose"; readonly at: number }
  | { readonly kind: "compact"; readonly at: number }
  | { readonly kind: "read on" }
  | { readonly kind: "clear" }
  | { readonly kind: "evict" };

const pick = (model: TreeModel, at: number): string => [...model.nodes.keys()][at % model.nodes.size] ?? "";

async function appendSome(model: TreeModel, session: TestSession, step: Extract<Step, { kind: "append" }>): Promise<void> {
  const below = typeof step.below === "number" ? pick(model, step.below) : step.below === "leaf" ? model.leaf : null;
  const messages = Array.from({ length: step.count }, (_, index) => message(model.nextId(), "word ".repeat(step.count + index)));
  await append(session, messages, { rules: HANDS_ON, ...(step.below === "leaf" ? {} : { parent_id: below }) });
  let parent = below;
  for (const one of messages) {
    model.nodes.set(one.id, { message: one, parent });
    parent = one.id;
  }
  model.leaf = parent;
}

async function edit(model: TreeModel, session: TestSession, { at, length }: Extract<Step, { kind: "edit" }>): Promise<void> {
  const id = pick(model, at);
  const edited = message(id, "edit ".repeat(length));
  const node = model.nodes.get(id);
  if (node === undefined) return;
  const same = JSON.stringify(node.message) === JSON.stringify(edited);
  const reply = valueOf(await session.rpc().putMessage({ message: edited, ...WRITE })).value;
  expect([reply.inserted, reply.changed]).toEqual([false, !same]);
  model.nodes.set(id, { message: edited, parent: node.parent });
  if (!same) for (const overlay of model.overlays) overlay.stale ||= overlay.covered.includes(id);
}

/** By hand, as a compactor would: the job's own range is taken over into the model. */
async function compact(model: TreeModel, session: TestSession, at: number): Promise<void> {
  const leaf = pick(model, at);
  const requested = await session.rpc().requestCompaction({ leaf_id: leaf, rules: HANDS_ON });
  if (!requested.ok) return;
  const { id, from_id: from, to_id: to } = requested.value.value;
  const { fence } = valueOf(await session.rpc().claimJob(id as never));
  const commit = { summary: "in short", model: "m", retention: null, usage: [] };
  const applied = valueOf(await session.rpc().commitJob(id as never, fence, commit));
  const path = model.path(leaf);
  const covered = path.slice(path.indexOf(from), path.indexOf(to) + 1);
  const tokensAfter = applied.tokens_after ?? 0;
  model.overlays.push({ id: applied.overlay_id ?? "", covered, tokensAfter, stale: false });
}

const PAGE = { view: "raw", order: "asc", limit: 2 } as const;
const numberOf = (id: string): number => Number(id.slice(1));

/** Begins a read, or ends the one that was begun some steps ago: it has gone on along its own path. */
async function readOn(model: TreeModel, session: TestSession): Promise<void> {
  const { held } = model;
  if (held === null) {
    const { items, next } = valueOf(await session.rpc().readHistory(PAGE));
    const last = items.at(-1)?.meta.id;
    if (next !== null && last !== undefined) model.held = { leaf: model.leaf, last, place: next };
    return;
  }
  const rest = valueOf(await session.rpc().readHistory({ ...PAGE, limit: 1_000, after: held.place }));
  const expected = model.path(held.leaf).filter((id) => numberOf(id) > numberOf(held.last));
  expect(rest.items.map((item) => item.meta.id)).toEqual(expected);
  expect(rest.leaf_id).toBe(held.leaf);
  model.held = null;
}

/** One step, on both. Steps that name a message do nothing while there is none. */
export async function take(model: TreeModel, session: TestSession, step: Step): Promise<void> {
  if (step.kind === "evict") return evictDurableObject(session.stub);
  if (step.kind === "append" && (typeof step.below !== "number" || model.nodes.size > 0)) return appendSome(model, session, step);
  if (step.kind === "read on") return readOn(model, session);
  if (step.kind === "append" || model.nodes.size === 0) return;
  if (step.kind === "edit") return edit(model, session, step);
  if (step.kind === "compact") return compact(model, session, step.at);
  if (step.kind === "repeat") {
    const id = pick(model, step.at);
    const reply = await append(session, [message(id, "something else")], { rules: HANDS_ON });
    expect(reply.results).toEqual([{ id, inserted: false, message: model.nodes.get(id)?.message }]);
  } else if (step.kind === "delete") {
    const ids = [...new Set(step.at.map((at) => pick(model, at)))];
    const idempotency = { key: ids.join(), fingerprint: "" };
    const input = { ids, idempotency, ...WRITE };
    const first = valueOf(await session.rpc().deleteMessages(input));
    const again = valueOf(await session.rpc().deleteMessages(input));
    expect(again).toEqual({ ...first, replayed: true });
    expect(first.value.results).toEqual(ids.map((id) => ({ id, deleted: true })));
    model.delete(ids);
  } else if (step.kind === "choose") {
    model.leaf = pick(model, step.at);
    valueOf(await session.rpc().chooseLeaf({ leaf_id: model.leaf }));
  } else {
    const idempotency = { key: `clear ${model.written}`, fingerprint: "" };
    valueOf(await session.rpc().clearMessages({ source: "server", idempotency }));
    model.delete([...model.nodes.keys()]);
    model.overlays = [];
    model.leaf = null;
  }
}

const QUERY = { order: "asc", limit: 1_000 } as const;

/** Histories to every leaf in both views, children of every message, leaves, totals. */
export async function compare(model: TreeModel, session: TestSession): Promise<void> {
  const rpc = session.rpc();
  const described = valueOf(await rpc.describe(HANDS_ON));
  expect([described.leaf_id, described.message_count, described.token_estimate]).toEqual([
    model.leaf,
    model.nodes.size,
    model.historyTokens(model.leaf),
  ]);
  const leaves = valueOf(await rpc.listLeaves({ limit: 1_000 })).items;
  expect(leaves.map((leaf) => leaf.id).toReversed()).toEqual(model.leaves());
  for (const { id, active, token_estimate: tokens } of leaves) {
    const path = model.path(id);
    expect([active, tokens]).toEqual([id === model.leaf, path.reduce((sum, one) => sum + model.tokens(one), 0)]);
    const raw = valueOf(await rpc.readHistory({ ...QUERY, view: "raw", leaf_id: id }));
    expect(raw.items.map((item) => JSON.parse(item.json) as unknown)).toEqual(path.map((one) => model.nodes.get(one)?.message));
    expect(raw.items.map((item) => item.meta.parent_id)).toEqual(path.map((one) => model.nodes.get(one)?.parent));
    expect(raw.total_content_bytes).toBe(raw.items.reduce((sum, item) => sum + item.meta.bytes, 0));
    const shown = valueOf(await rpc.readHistory({ ...QUERY, view: "history", leaf_id: id }));
    expect(shown.items.map((item) => item.meta.id)).toEqual(model.history(id));
  }
  for (const parent of [null, ...model.nodes.keys()]) {
    const branches = valueOf(await rpc.listBranches({ id: parent, limit: 1_000 }));
    const children = model.children(parent);
    expect(branches.items.map((item) => item.meta.id)).toEqual(children);
    const path = model.path(model.leaf);
    expect(branches.active_id).toBe(children.find((id) => path.includes(id)) ?? null);
  }
  const { totals } = valueOf(await rpc.readStats({ limit: 1 }));
  const active = model.path(model.leaf);
  expect([totals?.messages, totals?.token_estimate]).toEqual([
    active.length,
    active.reduce((sum, one) => sum + model.tokens(one), 0),
  ]);
  const overlays = valueOf(await rpc.listOverlays({ limit: 1_000 })).items;
  expect(overlays.map(({ id, stale, messages }) => ({ id, stale, messages })).toReversed()).toEqual(
    model.overlays.map(({ id, stale, covered }) => ({ id, stale, messages: covered.length })),
  );
}
