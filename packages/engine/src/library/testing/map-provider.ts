/** A storage of a caller's own: the twelve methods over a map. Tests alone import it. */
import type { SessionMessage, SessionProvider, StoredCompaction } from "../sessions.ts";
import { idsOf, text } from "./in-object.ts";

type Row = { readonly message: SessionMessage; readonly parentId: string | null };

export class MapProvider implements SessionProvider {
  readonly rows = new Map<string, Row>();
  readonly compactions: StoredCompaction[] = [];

  #path(leafId: string | null | undefined): SessionMessage[] {
    const path: SessionMessage[] = [];
    for (let at: string | null | undefined = leafId ?? [...this.rows.keys()].at(-1); at !== undefined && at !== null;) {
      const row = this.rows.get(at);
      if (row === undefined) break;
      path.unshift(row.message);
      at = row.parentId;
    }
    return path;
  }
  getMessage = async (id: string) => this.rows.get(id)?.message ?? null;
  /** The last compaction alone is applied. */
  pathWithCompactions(leafId?: string | null): SessionMessage[] {
    const path = this.#path(leafId);
    const one = this.compactions.at(-1);
    const [from, to] = [idsOf(path).indexOf(one?.fromMessageId ?? ""), idsOf(path).indexOf(one?.toMessageId ?? "")];
    if (one === undefined || from === -1 || to === -1) return path;
    return path.toSpliced(from, to - from + 1, text(`compaction_${one.id}`, one.summary, "assistant"));
  }
  getHistory = async (leafId?: string | null) => this.pathWithCompactions(leafId);
  getLatestLeaf = async () => this.#path(undefined).at(-1) ?? null;
  getBranches = async (id: string) =>
    [...this.rows.values()].filter(({ parentId }) => parentId === id).map(({ message }) => message);
  getPathLength = async (leafId?: string | null) => this.#path(leafId).length;
  appendMessage = async (message: SessionMessage, parentId?: string | null) => {
    this.rows.set(message.id, {
      message,
      parentId: parentId === undefined ? ((await this.getLatestLeaf())?.id ?? null) : parentId,
    });
  };
  updateMessage = async (message: SessionMessage) => {
    this.rows.set(message.id, { parentId: this.rows.get(message.id)?.parentId ?? null, message });
  };
  deleteMessages = async (ids: string[]) => ids.forEach((id) => this.rows.delete(id));
  clearMessages = async () => this.rows.clear();
  addCompaction = async (summary: string, fromMessageId: string, toMessageId: string) => {
    const record = {
      id: `${this.compactions.length}`,
      summary,
      fromMessageId,
      toMessageId,
      createdAt: new Date(0).toISOString(),
    };
    this.compactions.push(record);
    return record;
  };
  getCompactions = async () => this.compactions;
}
