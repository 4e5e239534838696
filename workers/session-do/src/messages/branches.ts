/** The shape of the tree: which leaf is active, all leaves, what hangs right below a message. */
import { formatInstant } from "@sessionplane/shared/fields";
import type { Leaf } from "@sessionplane/shared/message";
import { NOT_FOUND, type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AfterWrite, Branches, SeqPage, SeqQuery } from "@sessionplane/shared/rpc/session-rpc";
import { messageMeta } from "@sessionplane/engine/history/read-history";
import { type Limits, MAX_PAGE_BYTES, take } from "@sessionplane/engine/history/recent-window";
import { contains } from "@sessionplane/engine/tree/runs";
import { seqPage } from "../seq-page.ts";
import type { SessionStore } from "../session-store.ts";
import { afterWrite } from "./after-write.ts";
import { checkOpen } from "./write-checks.ts";

/** Any message may be made the active leaf: the next append hangs below it. */
export function chooseLeaf(
  store: SessionStore,
  { leaf_id: id }: { readonly leaf_id: string },
  now: number,
): Result<AfterWrite, Problem> {
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const seq = store.messages.seqOf(id);
  if (seq === null) return err(fieldProblem("unknown_leaf", "/leaf_id", `${id} is not a message of this session`));
  return store.atomically(() => {
    if (store.messages.choose(seq, now)) {
      store.events.note(store.messages.changedSeq(), "leaf", { leaf_id: id });
      store.trigger.forget();
    }
    return ok(afterWrite(store));
  });
}

type BranchQuery = { readonly id: string | null; readonly limit: number; readonly after_seq?: number };

export function listBranches(store: SessionStore, { id, limit, after_seq: after = 0 }: BranchQuery): Result<Branches, Problem> {
  const parent = id === null ? 0 : store.messages.seqOf(id);
  if (parent === null) return err(NOT_FOUND);
  const children = store.messages.childrenOf(parent);
  const path = store.messages.pathTo(store.messages.activeLeaf());
  const active = children.find((seq) => contains(path, seq));
  const rest = children.filter((seq) => seq > after).map((seq) => ({ first: seq, last: seq }));
  const limits: Limits = { count: limit, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const { taken, more } = take(store.messages.scan(rest, "asc"), limits);
  return ok({
    items: taken.map((read) => ({ json: read.json, meta: messageMeta(read, id) })),
    next_seq: more ? (taken.at(-1)?.seq ?? null) : null,
    active_id: active === undefined ? null : store.messages.idOf(active),
  });
}

export function listLeaves(store: SessionStore, { limit, before_seq: before }: SeqQuery): Result<SeqPage<Leaf>, Problem> {
  const active = store.messages.activeLeaf();
  const newestFirst = store.messages.leaves().filter((seq) => before === undefined || seq < before);
  const rows = newestFirst.reverse().slice(0, limit + 1);
  return ok(
    seqPage(
      rows.flatMap((seq) => store.messages.meta(seq) ?? []),
      limit,
      ({ id, role, seq, created_at }) => ({
        id,
        role,
        seq,
        token_estimate: store.messages.totalsTo(seq).tokens,
        created_at: formatInstant(created_at),
        active: seq === active,
      }),
    ),
  );
}
