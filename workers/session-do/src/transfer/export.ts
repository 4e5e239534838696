/**
 * A session as NDJSON, in constant memory: itself, its blocks, its messages in the order in which they were
 * written, its overlays, what is frozen and loaded.
 */
import { formatInstant } from "@sessionplane/shared/fields";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { ExportQuery } from "@sessionplane/shared/rpc/session-rpc";
import { type ContextLine, type OverlayLine, type SessionLine, TRANSFER_FORMAT } from "@sessionplane/shared/transfer";
import { type Limits, MAX_PAGE_BYTES, take } from "@sessionplane/engine/history/recent-window";
import type { MessageRead } from "@sessionplane/engine/storage/sqlite/message-rows";
import { type StoredOverlay, toOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import { type Range, contains, within } from "@sessionplane/engine/tree/runs";
import type { MediaBucket } from "../messages/media-bucket.ts";
import { ERASED_MEANWHILE, isErased } from "../session-row.ts";
import type { SessionStore } from "../session-store.ts";
import { blockLines, stateLines } from "./context-lines.ts";

const MAX_ROWS = 200;
const EVERYTHING: readonly Range[] = [{ first: 1, last: Number.MAX_SAFE_INTEGER }];

function sessionLine(store: SessionStore, leafId: string | null): SessionLine {
  const { external_id: _external, parent_session_id: _parent, ...session } = store.row.settings;
  return { kind: "session", format: TRANSFER_FORMAT, session, leaf_id: leafId, created_at: formatInstant(store.row.created_at) };
}

function overlayLine(row: StoredOverlay, position: number): OverlayLine {
  const { id, from_id, to_id, summary, retention, model, stale, created_at } = toOverlay(row, null);
  return { kind: "overlay", position, overlay: { id, from_id, to_id, summary, retention, model, stale, created_at } };
}

/** What a message's line says beside the message, whose own JSON is passed on. */
function messageHead(store: SessionStore, read: MessageRead, position: number): string {
  const unloaded = [...(store.skills.masks().get(read.seq)?.keys() ?? [])];
  return JSON.stringify({
    kind: "message",
    position,
    parent_id: store.messages.parentOf(read.seq)?.id ?? null,
    created_at: formatInstant(read.created_at),
    ...(unloaded.length === 0 ? {} : { unloaded }),
  });
}

type Part = {
  readonly path: readonly Range[];
  readonly leafId: string | null;
  readonly overlays: readonly StoredOverlay[];
  /** What is frozen and loaded goes along. */
  readonly hasState: boolean;
};

/** The whole session, the path to a message with the overlays that lie on it, or no message at all. */
function partOf(store: SessionStore, { to, messages = true }: ExportQuery): Result<Part, Problem> {
  if (!messages) return ok({ path: [], leafId: null, overlays: [], hasState: false });
  const overlays = store.overlays.all();
  if (to === undefined) {
    const leafId = store.messages.idOf(store.messages.activeLeaf());
    return ok({ path: EVERYTHING, leafId, overlays, hasState: true });
  }
  const seq = store.messages.seqOf(to);
  if (seq === null) return err(fieldProblem("unknown_message", "/at_message_id", `${to} is not a message of this session`));
  const path = store.messages.pathTo(seq);
  const onPath = overlays.filter(({ from_seq: first, to_seq: last }) => contains(path, first) && contains(path, last));
  return ok({ path, leafId: to, overlays: onPath, hasState: true });
}

/** Texts of lines, as many as a read takes; undefined at the end. */
function takeLines(lines: Iterator<ContextLine>): string[] | undefined {
  const taken: string[] = [];
  for (let bytes = 0; bytes < MAX_PAGE_BYTES;) {
    const next = lines.next();
    if (next.done === true) return taken.length === 0 ? undefined : taken;
    const text = JSON.stringify(next.value);
    bytes += text.length;
    taken.push(text);
  }
  return taken;
}

export function exportSession(
  store: SessionStore,
  query: ExportQuery,
  bucket: MediaBucket,
): Result<ReadableStream<Uint8Array>, Problem> {
  const part = partOf(store, query);
  if (!part.ok) return part;
  const { path, leafId, overlays, hasState } = part.value;
  const limits: Limits = { count: MAX_ROWS, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const encoder = new TextEncoder();
  const blocks = blockLines(store);
  let after = 0;
  let position = 0;

  async function nextMessages(): Promise<{ readonly texts: string[]; readonly more: boolean }> {
    const rest = within(path, after + 1, Number.MAX_SAFE_INTEGER);
    const { taken, more } = take(store.messages.scan(rest, "asc"), limits);
    after = taken.at(-1)?.seq ?? after;
    // Parents and bytes are read in this turn, before anything is awaited.
    const lines = taken.map((read) => ({ ...read, head: messageHead(store, read, (position += 1)) }));
    const filled = await bucket.inline(store, lines, (line) => line.seq);
    return { texts: filled.map(({ head, json }) => `${head.slice(0, -1)},"message":${json}}`), more };
  }

  function lastLines(): string[] {
    const state = hasState ? [...stateLines(store, query.to === undefined ? undefined : path)] : [];
    return [...overlays.map((overlay, index) => overlayLine(overlay, index + 1)), ...state].map((line) => JSON.stringify(line));
  }

  const stream = new ReadableStream({
    type: "bytes",
    start(controller: ReadableByteStreamController) {
      controller.enqueue(encoder.encode(`${JSON.stringify(sessionLine(store, leafId))}\n`));
    },
    async pull(controller: ReadableByteStreamController) {
      const send = (texts: readonly string[]) => {
        if (texts.length > 0) controller.enqueue(encoder.encode(texts.map((text) => `${text}\n`).join("")));
      };
      if (isErased(store)) return controller.error(new Error(ERASED_MEANWHILE));
      const ofBlocks = takeLines(blocks);
      if (ofBlocks !== undefined) return send(ofBlocks);
      const { texts, more } = await nextMessages();
      if (isErased(store)) return controller.error(new Error(ERASED_MEANWHILE));
      send(more ? texts : [...texts, ...lastLines()]);
      if (more) return;
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
  return ok(stream);
}
