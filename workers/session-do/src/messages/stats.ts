/** The messages of a path without their content: what each weighs, and all together. */
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import type { PathStats, StatsQuery } from "@sessionplane/shared/rpc/session-rpc";
import { type Range, within } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";
import { leafOf } from "./read.ts";

function totalsOf(store: SessionStore, leaf: number, path: readonly Range[]): PathStats["totals"] {
  const { bytes, tokens } = store.messages.totalsTo(leaf);
  return { messages: store.messages.countOn(path), bytes, token_estimate: tokens };
}

/** A page of the path, oldest first. The first one also says what the whole path adds up to. */
export function readStats(store: SessionStore, query: StatsQuery): Result<PathStats, Problem> {
  const leaf = leafOf(store, query);
  if (!leaf.ok) return leaf;
  const path = store.messages.pathTo(leaf.value);
  const rest = within(path, (query.after?.seq ?? 0) + 1, Number.MAX_SAFE_INTEGER);
  const rows: { seq: number; id: string; role: string; bytes: number; tokens: number }[] = [];
  for (const row of store.messages.scanMeta(rest)) {
    rows.push(row);
    if (rows.length > query.limit) break;
  }
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1);
  return ok({
    items: shown.map(({ id, role, bytes, tokens }) => ({ id, role, bytes, token_estimate: tokens })),
    leaf_id: store.messages.idOf(store.messages.nearest(leaf.value)),
    totals: query.after === undefined ? totalsOf(store, leaf.value, path) : null,
    next: rows.length > query.limit && last !== undefined ? { leaf: leaf.value, seq: last.seq } : null,
  });
}
