/** The frozen system prompt: one row, once it was asked for. Writing a block does not change it. */
export type FrozenPrompt = { readonly prompt: string; readonly tokens: number; readonly frozen_at: number };

export class PromptStore {
  readonly #sql: SqlStorage;
  #tokens: number | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  forget(): void {
    this.#tokens = undefined;
  }

  /** Null when it is to be rendered. */
  frozen(): FrozenPrompt | null {
    const sql = "SELECT prompt, tokens, frozen_at FROM prompt WHERE expired = 0";
    return this.#sql.exec<FrozenPrompt>(sql).toArray()[0] ?? null;
  }

  /** Of the prompt that models were given last: asked with every append. */
  tokens(): number {
    this.#tokens ??= this.#sql.exec<{ tokens: number }>("SELECT tokens FROM prompt").toArray()[0]?.tokens ?? 0;
    return this.#tokens;
  }

  freeze({ prompt, tokens, frozen_at }: FrozenPrompt): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO prompt (only, prompt, tokens, frozen_at, expired) VALUES (1, ?, ?, ?, 0)",
      ...[prompt, tokens, frozen_at],
    );
    this.forget();
  }

  clear(): void {
    this.#sql.exec("DELETE FROM prompt");
    this.forget();
  }

  /** The next one who asks is given it as the blocks are then. */
  expire(): void {
    this.#sql.exec("UPDATE prompt SET expired = 1");
  }
}
