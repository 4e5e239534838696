/**
 * What a session's object offers to `api` (through `session-client.ts`) and to the compactor. `SessionDO`
 * implements it. Every method answers with a Result; a throw is a broken object or platform.
 */
import type { NewBlock } from "../block.ts";
import type { CompactionPolicyPatch } from "../compaction-policy.ts";
import type { Erasure } from "../erasure.ts";
import type { SessionId, TenantId } from "../ids.ts";
import type { Leaf, Message, MessageMeta, MessageStats, Role, Source, ToolPatch } from "../message.ts";
import type { Problem } from "../problem.ts";
import type { Result } from "../result.ts";
import type { FoundInSession, SearchHit, SearchPage, SessionSearch } from "../search.ts";
import type { PatchSession, Session, SessionSettings } from "../session.ts";
import type { TransferLine } from "../transfer.ts";
import type { CompactionRpc } from "./compaction-rpc.ts";
import type { ContextRpc } from "./context-rpc.ts";
import type { UsageRpc } from "./usage-rpc.ts";

/** A request's `Idempotency-Key`, hashed with method and path, and the hash of its body. */
export type Idempotency = { readonly key: string; readonly fingerprint: string };

/** The tenant's settings that rule a write. They travel with the call: the object keeps no copy. */
export type TenantRules = {
  readonly client_roles: readonly Role[];
  readonly reserved_metadata_keys: readonly string[];
  readonly compaction: CompactionPolicyPatch;
};

/** A write's reply, and whether it is that of an earlier request with the same idempotency key. */
export type Written<T> = { readonly value: T; readonly replayed: boolean };

export type OpenSession = {
  readonly tenant_id: TenantId;
  readonly session_id: SessionId;
  readonly settings: SessionSettings;
  readonly created_at: number;
  readonly rules: TenantRules;
  /** What it begins with: checked by `checkNewBlocks`. */
  readonly blocks?: readonly NewBlock[];
};

export type AppendMessages = {
  /** In order; each after the first hangs below the one before it. */
  readonly messages: readonly Message[];
  /** Absent: the active leaf. Null: a new root. */
  readonly parent_id?: string | null;
  readonly source: Source;
  readonly rules: TenantRules;
  readonly idempotency?: Idempotency;
};

/** The session after a write: its active leaf, the tokens of the history to it, the open job. */
export type AfterWrite = {
  readonly leaf_id: string | null;
  readonly token_estimate: number;
  readonly compaction_job_id: string | null;
};

/** `message`: as it is stored; null when it was deleted since, or when all of them are too much for a reply. */
export type Appended = AfterWrite & {
  readonly results: readonly { readonly id: string; readonly inserted: boolean; readonly message: Message | null }[];
};

/** Who writes, by which rules, and which version of the message is expected to be there. */
type MessageWrite = { readonly source: Source; readonly rules: TenantRules; readonly if_match?: IfMatch };
/** `any`: only when the message is there. `none`: only when it is not. A number: only when that is its version. */
export type IfMatch = "any" | "none" | number;

export type PutMessage = MessageWrite & {
  readonly idempotency?: Idempotency;
  readonly message: Message;
  /** Where a new message hangs, as in an append. One that is there stays where it is. */
  readonly parent_id?: string | null;
};

export type PatchMessage = MessageWrite & {
  readonly id: string;
  readonly patch: ToolPatch;
  readonly idempotency?: Idempotency;
};

export type WrittenMessage = AfterWrite & {
  readonly id: string;
  readonly inserted: boolean;
  /** False when this is what was stored: then nothing was written. */
  readonly changed: boolean;
  /** Null in a repetition when it was deleted since. */
  readonly message: Message | null;
  /** Rises with every change of the message. */
  readonly version: number;
};

export type DeleteMessages = {
  readonly ids: readonly string[];
  readonly source: Source;
  readonly rules: TenantRules;
  readonly idempotency: Idempotency;
};

export type DeletedMessages = AfterWrite & {
  /** `deleted` is false for an id that no message has. */
  readonly results: readonly { readonly id: string; readonly deleted: boolean }[];
};

export type Branches = SeqPage<HistoryItem> & {
  /** The one on the active path; null when none is. */
  readonly active_id: string | null;
};

export type StatsQuery = { readonly leaf_id?: string; readonly limit: number; readonly after?: HistoryPlace };
export type PathStats = {
  readonly items: readonly MessageStats[];
  readonly leaf_id: string | null;
  /** Of the whole path; null on all pages but the first. */
  readonly totals: { readonly messages: number; readonly bytes: number; readonly token_estimate: number } | null;
  readonly next: HistoryPlace | null;
};

export type HistoryView = "history" | "raw";
export type HistoryOrder = "asc" | "desc";

export type HistoryQuery = MediaQuery & {
  /** Absent: the active leaf. */
  readonly leaf_id?: string;
  readonly view: HistoryView;
  readonly order: HistoryOrder;
  readonly limit: number;
  readonly after?: HistoryPlace;
  /** The longest recent run that fits; the newest message is always in. */
  readonly max_bytes?: number;
  readonly max_tokens?: number;
  /** Older messages with long outputs and texts cut; what is older begins anew every so many messages. */
  readonly truncate_older?: number;
};

/**
 * Where a page ended: at `seq` of the path to `leaf`. It names its path, so that a read that began goes on
 * along it when another leaf is active by then. `whole_from`: the first message that is not cut, when older ones are.
 */
export type HistoryPlace = { readonly leaf: number; readonly seq: number; readonly whole_from?: number };

/** A message as stored JSON, so that it is sent on without being parsed. */
export type HistoryItem = { readonly json: string; readonly meta: MessageMeta };

export type HistoryPage = {
  readonly items: readonly HistoryItem[];
  readonly leaf_id: string | null;
  /** A byte or token limit left older messages out. */
  readonly truncated: boolean;
  /** Of the whole path, in UTF-8 bytes of stored JSON, whatever the page or limit. */
  readonly total_content_bytes: number;
  /** Of all that is read to the leaf, with summaries in place in the view `history`; whatever the page or limit. */
  readonly token_estimate: number;
  /** Where the next page begins, in the order asked; null at the end. */
  readonly next: HistoryPlace | null;
};

export type StreamQuery = Pick<HistoryQuery, "leaf_id" | "view" | "order" | "attachments" | "truncate_older">;

/** How a read gives the bytes of messages: as links, or in place, exactly as they came. */
export type MediaQuery = { readonly attachments?: "link" | "inline" };

/** An attachment's bytes, or where in R2 they are. */
export type AttachmentContent = {
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly content: { readonly kind: "bytes"; readonly bytes: Uint8Array } | { readonly kind: "r2"; readonly key: string };
};

export type StoredMessage = HistoryItem & { readonly version: number };

export type SeqPage<T> = { readonly items: readonly T[]; readonly next_seq: number | null };
export type SeqQuery = { readonly limit: number; readonly before_seq?: number };

/** Lines of a session that is being made of them. `line`: where each stood, for refusals. */
export type StagedLine = { readonly line: number; readonly entry: Exclude<TransferLine, { kind: "session" }> };

export type StageLines = {
  readonly tenant_id: TenantId;
  readonly session_id: SessionId;
  /** The first lines: what an earlier attempt left is forgotten. */
  readonly first: boolean;
  readonly lines: readonly StagedLine[];
};

/** `to`: the path to this message alone, as a fork has it. `messages: false`: settings and context, as a split has them. */
export type ExportQuery = { readonly to?: string; readonly messages?: boolean };

export type FinishImport = OpenSession & {
  /** Absent: the last message. */
  readonly leaf_id: string | null;
  /** The lines are a session of ours, with all that there is to say of it. */
  readonly is_own: boolean;
};

export type Imported = { readonly session: Session; readonly messages: number; readonly overlays: number };

export interface SessionRpc extends ContextRpc, CompactionRpc, UsageRpc {
  /** Creates the session in its object. Idempotent: a second call changes nothing. */
  open(input: OpenSession): Promise<Result<Session, Problem>>;
  describe(rules: TenantRules): Promise<Result<Session, Problem>>;
  patch(input: {
    patch: PatchSession;
    if_match?: number;
    rules: TenantRules;
    idempotency?: Idempotency;
  }): Promise<Result<Written<Session>, Problem>>;
  end(input: { reason: string; rules: TenantRules; idempotency?: Idempotency }): Promise<Result<Written<Session>, Problem>>;

  /** Everything that was said, at once and for good. A second call shows what became of the first. */
  erase(input: { if_match?: number }): Promise<Result<Erasure, Problem>>;
  /** Not found when the session is there. */
  readErasure(): Promise<Result<Erasure, Problem>>;

  append(input: AppendMessages): Promise<Result<Written<Appended>, Problem>>;
  readHistory(query: HistoryQuery): Promise<Result<HistoryPage, Problem>>;
  /** Server-sent events after a place in the log, for as long as someone reads. Absent: what comes next. */
  streamEvents(query: { after?: number }): Promise<Result<ReadableStream<Uint8Array>, Problem>>;
  /** The session as NDJSON. */
  exportSession(query: ExportQuery): Promise<Result<ReadableStream<Uint8Array>, Problem>>;
  /** Keeps lines for a session that is not there yet. Refused when it is. */
  stageImport(input: StageLines): Promise<Result<null, Problem>>;
  /** Makes the session of the lines, all at once. */
  finishImport(input: FinishImport): Promise<Result<Imported, Problem>>;
  /** Forgets the lines, and the object everything. Does nothing to a session that is there. */
  abandonImport(): Promise<void>;

  /** NDJSON, a message a line, in constant memory. */
  streamHistory(query: StreamQuery): Promise<Result<ReadableStream<Uint8Array>, Problem>>;
  getMessage(query: { id: string } & MediaQuery): Promise<Result<StoredMessage, Problem>>;
  /** Updates or appends. An update keeps the message's place. */
  putMessage(input: PutMessage): Promise<Result<Written<WrittenMessage>, Problem>>;
  /** Merges into one tool part: results that arrive at once never overwrite each other. */
  patchMessage(input: PatchMessage): Promise<Result<Written<WrittenMessage>, Problem>>;
  /** What hung below a deleted message hangs below the nearest that is left. */
  deleteMessages(input: DeleteMessages): Promise<Result<Written<DeletedMessages>, Problem>>;
  /** Every message and overlay. Settings, usage and jobs stay. */
  clearMessages(input: { source: Source; idempotency: Idempotency }): Promise<Result<Written<AfterWrite>, Problem>>;
  chooseLeaf(input: { leaf_id: string }): Promise<Result<AfterWrite, Problem>>;
  /** The messages right below one, oldest first; of null: the roots. */
  listBranches(query: { id: string | null; limit: number; after_seq?: number }): Promise<Result<Branches, Problem>>;
  /** Newest first. */
  listLeaves(query: SeqQuery): Promise<Result<SeqPage<Leaf>, Problem>>;
  /** `media_type`: which of the types under which the bytes came. */
  getAttachment(query: { id: string; media_type: string }): Promise<Result<AttachmentContent, Problem>>;
  readStats(query: StatsQuery): Promise<Result<PathStats, Problem>>;
  /** The best hit first. The first search makes the index. */
  search(query: SessionSearch): Promise<Result<SearchPage, Problem>>;
  /** What was found elsewhere, as it is now; without what is no longer there. */
  showHits(found: FoundInSession): Promise<Result<readonly SearchHit[], Problem>>;

  /** The catalog has committed the facts of `(afterSeq, toSeq]`. */
  projected(afterSeq: number, toSeq: number): Promise<void>;
  /** Up to where the catalog has confirmed the log, without a gap. */
  confirmedSeq(): Promise<Result<number, Problem>>;
  /** Sends every fact again, from the first. The number of facts that will be sent. */
  repair(): Promise<Result<number, Problem>>;
}

/** The binding, as far as callers use it: a name gives an object, and a call of it may throw. */
export interface SessionNamespace {
  getByName(name: string): SessionRpc;
}

/** The same for whoever connects WebSockets, which no method can return. */
export interface ConnectableSessions {
  getByName(name: string): SessionRpc & { fetch(request: Request): Promise<Response> };
}

/** What the object needs to know of a WebSocket, in the query of its request. */
export type ConnectQuery = { readonly after?: number; readonly threshold: number };
