/**
 * Which skills a session has loaded, and which outputs of `load_context` are in its messages: tables
 * `skills_loaded` and `skill_outputs`. Unloading hides the outputs from the history and changes no message.
 * Writes are synchronous; a caller puts them in the transaction of the message's own write.
 */
import type { Message } from "@sessionplane/shared/message";
import { type SkillCall, skillCallsOf, unloadedText } from "../../context/skill-calls.ts";
import { utf8Bytes } from "../../messages/split-text.ts";
import { estimateText, estimateValue } from "../../tokens/estimate.ts";
import { type Range, contains } from "../../tree/runs.ts";
import type { Sql } from "./database.ts";
import { NO_SIZE, type Size } from "./edit-store.ts";

/** `version` and `sha256`: the document as it was loaded, which loading it again gives; null when that is not known. */
export type LoadedSkill = {
  readonly label: string;
  readonly key: string;
  readonly version: number | null;
  readonly sha256: string | null;
  readonly tokens: number;
  readonly loaded_at: number;
};

/** By the message's seq: the documents' keys by the ids of the calls whose outputs are hidden. */
export type Masks = ReadonlyMap<number, ReadonlyMap<string, string>>;

type StateRow = { loaded: number; restored: number };
type OutputRow = { seq: number; call_id: string; label: string; key: string; hidden: number; tokens: number; bytes: number };

const LOADED = "SELECT label, key, version, sha256, tokens, loaded_at FROM [skills_loaded] WHERE loaded = 1";
const SAVE = `INSERT OR REPLACE INTO [skills_loaded] (label, key, loaded, restored, version, sha256, tokens, loaded_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

/** What hiding an output takes out of a history. */
function savingOf({ stored, key }: SkillCall): Size {
  const note = unloadedText(key);
  const bytes = utf8Bytes(JSON.stringify(stored)) - utf8Bytes(JSON.stringify(note));
  return { tokens: estimateValue(stored) - estimateText(note), bytes };
}

const isSameCall = (a: SkillCall, b: SkillCall): boolean =>
  a.kind === b.kind && a.callId === b.callId && a.label === b.label && a.key === b.key;

export class SkillState {
  readonly #sql: Sql;
  /** Most sessions have none, and then nothing has to be asked. */
  #outputs: OutputRow[] | undefined;
  #masks: Masks | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  forget(): void {
    this.#outputs = undefined;
    this.#masks = undefined;
  }

  /** In the order in which they were loaded. */
  loaded(): LoadedSkill[] {
    return this.#sql.exec<LoadedSkill>(`${LOADED} ORDER BY loaded_at, label, key`).toArray();
  }

  find(label: string, key: string): LoadedSkill | null {
    return this.#sql.exec<LoadedSkill>(`${LOADED} AND label = ? AND key = ?`, label, key).toArray()[0] ?? null;
  }

  load({ label, key, version, sha256, tokens, loaded_at }: LoadedSkill): void {
    this.#sql.exec(SAVE, label, key, 1, 0, version, sha256, tokens, loaded_at);
  }

  /** False when it was not loaded. */
  unload(label: string, key: string): boolean {
    if (this.find(label, key) === null) return false;
    this.#sql.exec("UPDATE [skills_loaded] SET loaded = 0 WHERE label = ? AND key = ?", label, key);
    this.#hide(label, key);
    return true;
  }

  #hide(label: string, key: string): void {
    this.#sql.exec("UPDATE [skill_outputs] SET hidden = 1 WHERE label = ? AND key = ?", label, key);
    this.forget();
  }

  /**
   * A message that is new or has other content. Its calls stand as they are in it; what was hidden stays so.
   * `before`: what it held. An unload of which it knew hides nothing a second time: what was loaded since stays.
   */
  note(seq: number, message: Pick<Message, "parts">, now: number, before: Pick<Message, "parts"> | null = null): void {
    const hidden = this.#outputsOf(seq);
    const calls = skillCallsOf(message);
    if (calls.length === 0 && hidden.size === 0) return;
    this.#sql.exec("DELETE FROM [skill_outputs] WHERE seq = ?", seq);
    const known = before === null ? [] : skillCallsOf(before);
    for (const call of calls) {
      if (call.kind === "load") this.#noteLoad(seq, call, hidden.get(call.callId), now);
      else if (!known.some((one) => isSameCall(one, call))) this.#noteUnload(call);
    }
    this.forget();
  }

  /** A message of a session whose own record says what is loaded: its outputs are hidden as they were there. */
  restore(seq: number, message: Pick<Message, "parts">, hidden: readonly string[]): void {
    const loads = skillCallsOf(message).filter(({ kind }) => kind === "load");
    if (loads.length === 0) return;
    for (const call of loads) this.#putOutput(seq, call, hidden.includes(call.callId));
    this.forget();
  }

  #allOutputs(): readonly OutputRow[] {
    const sql = "SELECT seq, call_id, label, key, hidden, tokens, bytes FROM [skill_outputs]";
    this.#outputs ??= this.#sql.exec<OutputRow>(sql).toArray();
    return this.#outputs;
  }

  #outputsOf(seq: number): Map<string, boolean> {
    const rows = this.#allOutputs().filter((row) => row.seq === seq);
    return new Map(rows.map((row) => [row.call_id, row.hidden === 1]));
  }

  #stateOf(label: string, key: string): StateRow | null {
    const sql = "SELECT loaded, restored FROM [skills_loaded] WHERE label = ? AND key = ?";
    return this.#sql.exec<StateRow>(sql, label, key).toArray()[0] ?? null;
  }

  /** A call of which nothing is known was made elsewhere: the messages are all that there is to go by. */
  #noteLoad(seq: number, call: SkillCall, wasHidden: boolean | undefined, now: number): void {
    const { label, key, output } = call;
    const state = this.#stateOf(label, key);
    if (wasHidden === undefined && (state === null || (state.restored === 1 && state.loaded === 0)))
      this.#sql.exec(SAVE, label, key, 1, 1, null, null, estimateText(output), now);
    this.#putOutput(seq, call, wasHidden ?? (state !== null && state.restored === 0 && state.loaded === 0));
  }

  #putOutput(seq: number, call: SkillCall, isHidden: boolean): void {
    const { label, key, callId } = call;
    const { tokens, bytes } = savingOf(call);
    this.#sql.exec(
      `INSERT OR REPLACE INTO [skill_outputs] (seq, call_id, label, key, hidden, tokens, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ...[seq, callId, label, key, isHidden ? 1 : 0, tokens, bytes],
    );
  }

  /** The outputs before it are hidden. A state that the tools themselves have set is newer than the message. */
  #noteUnload({ label, key }: SkillCall): void {
    this.#hide(label, key);
    this.#sql.exec("UPDATE [skills_loaded] SET loaded = 0 WHERE label = ? AND key = ? AND restored = 1", label, key);
  }

  /** Outputs in a message that were hidden where it comes from. */
  hide(seq: number, callIds: readonly string[]): void {
    for (const id of callIds) this.#sql.exec("UPDATE [skill_outputs] SET hidden = 1 WHERE seq = ? AND call_id = ?", seq, id);
    this.forget();
  }

  /** Messages that are gone. What was loaded by them stays loaded. */
  drop(seqs: readonly number[]): void {
    if (this.#allOutputs().length === 0) return;
    for (const seq of seqs) this.#sql.exec("DELETE FROM [skill_outputs] WHERE seq = ?", seq);
    this.forget();
  }

  /** A block that is gone: nothing of it is loaded any more, and its outputs stay as they are. */
  dropBlock(label: string): void {
    this.#sql.exec("DELETE FROM [skills_loaded] WHERE label = ?", label);
  }

  clear(): void {
    this.#sql.exec("DELETE FROM [skill_outputs]");
    this.#sql.exec("DELETE FROM [skills_loaded]");
    this.forget();
  }

  #hiddenOutputs(): OutputRow[] {
    return this.#allOutputs().filter((row) => row.hidden === 1);
  }

  masks(): Masks {
    if (this.#masks !== undefined) return this.#masks;
    const masks = new Map<number, Map<string, string>>();
    for (const { seq, call_id: callId, key } of this.#hiddenOutputs()) {
      const ofMessage = masks.get(seq) ?? new Map<string, string>();
      masks.set(seq, ofMessage.set(callId, key));
    }
    this.#masks = masks;
    return masks;
  }

  /** Whether an output of this document is shown in a message of the path. */
  isShownOn(path: readonly Range[], label: string, key: string): boolean {
    return this.#allOutputs().some(
      (row) => row.hidden === 0 && row.label === label && row.key === key && contains(path, row.seq),
    );
  }

  /** What is hidden of one message. */
  savingIn(seq: number): Size {
    return sum(this.#hiddenOutputs().filter((row) => row.seq === seq));
  }

  /** What is hidden on a path, outside of ranges that a summary stands for. */
  savingOn(path: readonly Range[], under: readonly { readonly from_seq: number; readonly to_seq: number }[]): Size {
    const shown = this.#hiddenOutputs().filter(
      ({ seq }) => contains(path, seq) && !under.some(({ from_seq: from, to_seq: to }) => from <= seq && seq <= to),
    );
    return sum(shown);
  }
}

const sum = (rows: readonly Size[]): Size =>
  rows.reduce((total, { tokens, bytes }) => ({ tokens: total.tokens + tokens, bytes: total.bytes + bytes }), NO_SIZE);
