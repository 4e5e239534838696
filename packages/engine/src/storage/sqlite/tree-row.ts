/** The one row of `tree`: the chosen leaf, what was removed, and the tree's last change that wrote no message. */
import type { Sql } from "./database.ts";
export type TreeRow = {
  readonly leaf_seq: number;
  readonly leaf_chosen_at: number;
  readonly removed: number;
  readonly changed_seq: number;
  readonly changed_at: number;
};

const COLUMNS = "leaf_seq, leaf_chosen_at, removed, changed_seq, changed_at";

export class TreeRowStore {
  readonly #sql: Sql;
  #row: TreeRow | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  forget(): void {
    this.#row = undefined;
  }

  get(): TreeRow {
    this.#row ??= this.#sql.exec<TreeRow>(`SELECT ${COLUMNS} FROM [tree]`).one();
    return this.#row;
  }

  save(patch: Partial<TreeRow>): void {
    const row = { ...this.get(), ...patch };
    this.#sql.exec(
      "UPDATE [tree] SET leaf_seq = ?, leaf_chosen_at = ?, removed = ?, changed_seq = ?, changed_at = ?",
      ...[row.leaf_seq, row.leaf_chosen_at, row.removed, row.changed_seq, row.changed_at],
    );
    this.#row = row;
  }
}
