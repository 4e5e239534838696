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

/** What was cleared is found no more at once; its words leave the index itself this much later, those of many clears together. */
const FORGET_MS = 60 * 60 * 1000;
/** Merged in one turn: others' requests come between two. */
const PAGES_PER_TURN = 64;
/** Of one alarm, well under the CPU time that it has. */
const TURNS_PER_ALARM = 100;

const NOTHING: IndexPage = { hits: [], next: null, complete_through: [], applied_at: null };

export class TenantSearch extends DurableObject<Env> implements TenantSearchRpc {
  readonly #texts = new TextIndex(this.ctx.storage.sql);
  readonly #marks = new SessionMarks(this.ctx.storage.sql);
  /** An object that is only asked stores nothing. */
  #isOpen = false;
  /** An index that is merged goes on being merged; evicted, it begins again. */
  #isMerging = false;

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
    // Full: what is left out shows in `complete_through`, and the sessions' own searches have it. What goes, goes.
    const isFull = storage.sql.databaseSize > Number(this.env.MAX_DATABASE_BYTES);
    const cleared = storage.transactionSync(() => {
      const removed = stretches.map((stretch) => (isFull ? this.#removeOne(stretch) : this.#applyOne(stretch)));
      if (!isFull) storage.sql.exec("INSERT OR REPLACE INTO state (only, applied_at) VALUES (1, ?)", Date.now());
      return removed.includes(true);
    });
    if (cleared && (await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + FORGET_MS);
  }

  /** The index without the words of what was cleared. A database that can't be written is tried again later. */
  override async alarm(): Promise<void> {
    try {
      for (let turn = 0; turn < TURNS_PER_ALARM; turn++) {
        this.#isMerging = this.ctx.storage.transactionSync(() => this.#texts.forget(PAGES_PER_TURN, !this.#isMerging));
        if (!this.#isMerging) return;
        await scheduler.wait(0);
      }
      await this.ctx.storage.setAlarm(Date.now());
    } catch {
      this.#isMerging = false;
      await this.ctx.storage.setAlarm(Date.now() + FORGET_MS);
    }
  }

  /** Whether something was cleared. */
  #applyOne(stretch: TextStretch): boolean {
    const mark = this.#marks.open(stretch.session_id);
    const cleared = stretch.facts.map((fact) => this.#applyFact(mark, fact));
    this.#marks.applied(mark, stretch);
    return cleared.includes(true);
  }

  /** Only what makes the index smaller, of a session that it knows. */
  #removeOne({ session_id: id, facts }: TextStretch): boolean {
    const mark = this.#marks.find(id);
    if (mark === null) return false;
    return facts.map((fact) => fact.kind !== "text" && this.#applyFact(mark, fact)).includes(true);
  }

  #applyFact({ number, first_seq: first }: SessionMark, fact: IndexFact): boolean {
    if (fact.kind === "clear") {
      this.#marks.raiseFirst(number, fact.first_seq);
      return this.#texts.removeBefore(number, fact.first_seq);
    }
    if (fact.kind === "removal")
      this.#texts.remove(number, { ...fact, message_seqs: fact.message_seqs.filter((seq) => seq >= first) });
    else if (fact.message_seq >= first) this.#texts.put(number, fact);
    return false;
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
