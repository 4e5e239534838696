/**
 * The full-text index over all sessions of one tenant. A copy that the projection feeds: the sessions can
 * make it again, and they alone say what a message is. It holds words, never a text.
 */
import { DurableObject } from "cloudflare:workers";
import type { IndexFact, IndexPage, IndexQuery, TenantSearchRpc, TextStretch } from "@sessionplane/shared/rpc/tenant-search-rpc";
import { matchExpression, parseQuery } from "@sessionplane/engine/search/query";
import { isMigrated, migrate } from "@sessionplane/engine/storage/sqlite/migrate";
import { MIGRATIONS } from "./migrations.ts";
import { type SessionMark, SessionMarks } from "./session-marks.ts";
import { TextIndex } from "./text-index.ts";

const NOTHING: IndexPage = { hits: [], next: null, complete_through: [], applied_at: null };

export class TenantSearch extends DurableObject<Env> implements TenantSearchRpc {
  readonly #texts = new TextIndex(this.ctx.storage.sql);
  readonly #marks = new SessionMarks(this.ctx.storage.sql);
  /** An object that is only asked stores nothing. */
  #isOpen = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    if (isMigrated(ctx.storage)) this.#open();
  }

  #open(): void {
    migrate(this.ctx.storage, MIGRATIONS);
    this.#texts.create();
    this.#isOpen = true;
  }

  async apply(stretches: readonly TextStretch[]): Promise<void> {
    const { storage } = this.ctx;
    if (!this.#isOpen) this.#open();
    // Full: what is left out shows in `complete_through`, and the sessions' own searches have it.
    if (storage.sql.databaseSize > Number(this.env.MAX_DATABASE_BYTES)) return;
    storage.transactionSync(() => {
      for (const stretch of stretches) this.#applyOne(stretch);
      storage.sql.exec("INSERT OR REPLACE INTO state (only, applied_at) VALUES (1, ?)", Date.now());
    });
  }

  #applyOne(stretch: TextStretch): void {
    const mark = this.#marks.open(stretch.session_id);
    for (const fact of stretch.facts) this.#applyFact(mark, fact);
    this.#marks.applied(mark, stretch);
  }

  #applyFact({ number, first_seq: first }: SessionMark, fact: IndexFact): void {
    switch (fact.kind) {
      case "text":
        if (fact.message_seq >= first) this.#texts.put(number, fact);
        return;
      case "removal":
        this.#texts.remove(number, { ...fact, message_seqs: fact.message_seqs.filter((seq) => seq >= first) });
        return;
      case "clear":
        this.#texts.removeBefore(number, fact.first_seq);
        this.#marks.raiseFirst(number, fact.first_seq);
    }
  }

  async search({ q, ...query }: IndexQuery): Promise<IndexPage> {
    const expression = matchExpression(parseQuery(q));
    if (!this.#isOpen) return NOTHING;
    const found = expression === null ? [] : this.#texts.find(expression, { ...query, limit: query.limit + 1 });
    const shown = found.slice(0, query.limit);
    const last = shown.at(-1);
    const named = query.session_id === undefined ? [] : [query.session_id];
    const sessions = new Set([...named, ...shown.map((hit) => hit.session_id)]);
    const [state] = this.ctx.storage.sql.exec<{ applied_at: number }>("SELECT applied_at FROM state").toArray();
    return {
      hits: shown.map(({ session_id, seq, score }) => ({ session_id, seq, score })),
      next: found.length > query.limit && last !== undefined ? { score: last.score, doc: last.doc } : null,
      complete_through: [...sessions].map((id) => ({ session_id: id, seq: this.#marks.find(id)?.through_seq ?? 0 })),
      applied_at: state?.applied_at ?? null,
    };
  }
}
