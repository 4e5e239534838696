/**
 * The tables that hold an import until all of its lines are there. Nothing else reads them; the session
 * does not exist before it is made of them.
 */
import type { OverlayLine } from "@sessionplane/shared/transfer";
import type { LeftOut } from "@sessionplane/engine/messages/draft";

/** A message without its content. `left_out`: JSON of what has left it. */
export type StagedMessage = {
  readonly id: string;
  readonly line: number;
  readonly position: number;
  readonly parent_id: string | null;
  readonly created_at: number | null;
  readonly left_out: string;
};
export type StagedOverlay = { readonly line: number; readonly overlay: OverlayLine["overlay"] };

/** What has left a staged message (its bytes are kept already), and the calls whose documents were unloaded. */
export type StagedLeftOut = Omit<LeftOut, "media"> & { readonly unloaded: readonly string[] };

const COLUMNS = "id, line, position, parent_id, created_at, left_out";
const PAGE = 200;

export class Staging {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  clear(): void {
    for (const table of ["import_messages", "import_pieces", "import_overlays"]) this.#sql.exec(`DELETE FROM ${table}`);
  }

  /** False when a line before it has this id. */
  addMessage(message: StagedMessage, pieces: readonly string[]): boolean {
    const { id, line, position, parent_id, created_at, left_out } = message;
    const sql = `INSERT INTO import_messages (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
    if (this.#sql.exec(sql, id, line, position, parent_id, created_at, left_out).rowsWritten === 0) return false;
    for (const [piece, json] of pieces.entries())
      this.#sql.exec("INSERT INTO import_pieces (id, piece, json) VALUES (?, ?, ?)", id, piece, json);
    return true;
  }

  addOverlay(line: number, { position = line, overlay }: OverlayLine): boolean {
    const sql = "INSERT INTO import_overlays (id, line, position, overlay) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
    return this.#sql.exec(sql, overlay.id, line, position, JSON.stringify(overlay)).rowsWritten > 0;
  }

  /** In the order in which they were written, a page at a time: what is read may write beside it. */
  *inOrder(): Generator<StagedMessage> {
    let after: StagedMessage | undefined;
    for (let more = true; more;) {
      const page: StagedMessage[] = this.#sql
        .exec<StagedMessage>(
          `SELECT ${COLUMNS} FROM import_messages WHERE (position, id) > (?, ?) ORDER BY position, id LIMIT ${PAGE}`,
          after?.position ?? -1,
          after?.id ?? "",
        )
        .toArray();
      yield* page;
      after = page.at(-1);
      more = page.length === PAGE;
    }
  }

  childrenOf(id: string): StagedMessage[] {
    const sql = `SELECT ${COLUMNS} FROM import_messages WHERE parent_id = ? ORDER BY position, id`;
    return this.#sql.exec<StagedMessage>(sql, id).toArray();
  }

  has(id: string): boolean {
    return this.#sql.exec("SELECT 1 FROM import_messages WHERE id = ?", id).toArray().length > 0;
  }

  jsonOf(id: string): string {
    return this.#sql
      .exec<{ json: string }>("SELECT json FROM import_pieces WHERE id = ? ORDER BY piece", id)
      .toArray()
      .map((piece) => piece.json)
      .join("");
  }

  overlays(): StagedOverlay[] {
    return this.#sql
      .exec<{ line: number; overlay: string }>("SELECT line, overlay FROM import_overlays ORDER BY position, id")
      .toArray()
      .map(({ line, overlay }) => ({ line, overlay: JSON.parse(overlay) as OverlayLine["overlay"] }));
  }
}
