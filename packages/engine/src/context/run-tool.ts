/**
 * A model's call of a tool: its arguments checked, the session asked, and the answer in words. Never throws for
 * what a model sent: an unanswered call would break the conversation. Knows no storage.
 */
import type * as z from "zod";
import { findJsonFault } from "@sessionplane/shared/json";
import { type ContextBlock, isKeyed, percentUsed } from "./context-block.ts";
import { entryKey } from "./entry-key.ts";
import {
  type ToolBlock,
  type ToolName,
  keyArguments,
  queryArguments,
  recallArguments,
  searchArguments,
  setContextArguments,
} from "./tools.ts";

type Awaitable<T> = T | Promise<T>;

/** Either what was asked for, or why not, in words for the model. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly because: string };

export type Recall = {
  readonly summaryId?: string | undefined;
  readonly query?: string | undefined;
  readonly after?: string | undefined;
};

/** Of a block that was written. */
export type Usage = Pick<ContextBlock, "tokens" | "maxTokens">;

/** What tools do, done by whoever keeps the session's context. */
export interface ToolTarget {
  blocks(): Awaitable<readonly ToolBlock[]>;
  /** Writes a block without keys; what it holds then. */
  write(label: string, content: string, action: "replace" | "append"): Awaitable<Outcome<Usage>>;
  writeEntry(label: string, key: string, content: string, description: string | undefined): Awaitable<Outcome<null>>;
  /** Null: there is no document with this key. */
  load(label: string, key: string): Awaitable<Outcome<string | null>>;
  /** False: it was not loaded. */
  unload(label: string, key: string): Awaitable<boolean>;
  /** As `label:key`. */
  loaded(): Awaitable<readonly string[]>;
  /** Null: nothing was found. */
  search(label: string, query: string): Awaitable<string | null>;
  searchSessions(query: string): Awaitable<string | null>;
  recall(what: Recall): Awaitable<Outcome<string | null>>;
}

/** What a model is told, and whether its call came to nothing. */
export type ToolAnswer = { readonly output: string; readonly isError: boolean };

const said = (output: string): ToolAnswer => ({ output, isError: false });
const refused = (because: string): ToolAnswer => ({ output: `Error: ${because}`, isError: true });

const NOTHING_FOUND = "No results found.";

const quoted = (labels: readonly string[]): string =>
  labels.length === 0 ? "none" : labels.map((label) => `"${label}"`).join(", ");

type Kind = "writable" | "isSkill" | "isSearchable";
const WORDS = { writable: "writable", isSkill: "loadable", isSearchable: "searchable" } as const satisfies Record<Kind, string>;

/** The block that a call names, when it is of the kind that the tool works on. */
async function find(target: ToolTarget, label: string, kind: Kind): Promise<Outcome<ToolBlock>> {
  const blocks = await target.blocks();
  const block = blocks.find((one) => one.label === label);
  if (block === undefined && kind === "writable") return { ok: false, because: `block "${label}" not found` };
  if (block?.[kind] === true) return { ok: true, value: block };
  if (block !== undefined && kind === "writable") return { ok: false, because: `block "${label}" is readonly` };
  const labels = blocks.filter((one) => one[kind]).map((one) => one.label);
  return { ok: false, because: `"${label}" is not a ${WORDS[kind]} block. These are: ${quoted(labels)}` };
}

const usage = ({ tokens, maxTokens }: Usage): string =>
  maxTokens === undefined ? `${tokens} tokens` : `${percentUsed(tokens, maxTokens)}% (${tokens}/${maxTokens} tokens)`;

async function setContext(target: ToolTarget, args: z.infer<typeof setContextArguments>): Promise<ToolAnswer> {
  const { label, content, action = "replace", metadata } = args;
  const block = await find(target, label, "writable");
  if (!block.ok) return refused(block.because);
  if (!isKeyed(block.value)) {
    const written = await target.write(label, content, action);
    return written.ok ? said(`Written to ${label}. Usage: ${usage(written.value)}`) : refused(written.because);
  }
  const key = entryKey(metadata?.title, content);
  const written = await target.writeEntry(label, key, content, metadata?.description ?? metadata?.title);
  return written.ok ? said(`Indexed "${key}" in ${label}.`) : refused(written.because);
}

async function loadContext(target: ToolTarget, { label, key }: z.infer<typeof keyArguments>): Promise<ToolAnswer> {
  const block = await find(target, label, "isSkill");
  if (!block.ok) return refused(block.because);
  const document = await target.load(label, key);
  if (!document.ok) return refused(document.because);
  return document.value === null ? { output: `Not found: ${key}`, isError: true } : said(document.value);
}

async function unloadContext(target: ToolTarget, { label, key }: z.infer<typeof keyArguments>): Promise<ToolAnswer> {
  const block = await find(target, label, "isSkill");
  if (!block.ok) return refused(block.because);
  if (await target.unload(label, key)) return said(`Unloaded "${key}" from ${label}. Context reclaimed.`);
  return refused(`"${key}" is not currently loaded from ${label}. Loaded: ${quoted(await target.loaded())}`);
}

async function searchContext(target: ToolTarget, { label, query }: z.infer<typeof searchArguments>): Promise<ToolAnswer> {
  const block = await find(target, label, "isSearchable");
  if (!block.ok) return refused(block.because);
  return said((await target.search(label, query)) ?? NOTHING_FOUND);
}

async function recall(target: ToolTarget, args: z.infer<typeof recallArguments>): Promise<ToolAnswer> {
  const { summary_id: summaryId, query, after } = args;
  if (summaryId === undefined && query === undefined) return refused("give summary_id or query");
  const found = await target.recall({ summaryId, query, after });
  return found.ok ? said(found.value ?? NOTHING_FOUND) : refused(found.because);
}

/** JSON in a string has not passed what a request's body has: what storage would change is no argument. */
function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return findJsonFault(value) === null ? value : text;
  } catch {
    return text;
  }
}

/** Some models send the arguments as JSON in a string, and null for what they leave out. */
const unwrapped = (sent: unknown): unknown => withoutNulls(typeof sent === "string" ? parsed(sent) : sent);

const withoutNulls = (value: unknown): unknown =>
  typeof value !== "object" || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).flatMap(([name, one]) => (one === null ? [] : [[name, withoutNulls(one)]])));

const issueText = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`)).join("; ");

async function withArguments<S extends z.ZodType>(
  schema: S,
  sent: unknown,
  run: (args: z.infer<S>) => Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  const args = schema.safeParse(unwrapped(sent));
  return args.success ? run(args.data) : refused(`the arguments do not fit: ${issueText(args.error)}`);
}

/** `session_search` alone, for whoever can search other sessions. */
export const searchSessions = (sent: unknown, search: ToolTarget["searchSessions"]): Promise<ToolAnswer> =>
  withArguments(queryArguments, sent, async ({ query }) => said((await search(query)) ?? NOTHING_FOUND));

type Run = (target: ToolTarget, sent: unknown) => Promise<ToolAnswer>;

const RUNS: Readonly<Record<ToolName, Run>> = {
  set_context: (target, sent) => withArguments(setContextArguments, sent, (args) => setContext(target, args)),
  load_context: (target, sent) => withArguments(keyArguments, sent, (args) => loadContext(target, args)),
  unload_context: (target, sent) => withArguments(keyArguments, sent, (args) => unloadContext(target, args)),
  search_context: (target, sent) => withArguments(searchArguments, sent, (args) => searchContext(target, args)),
  session_search: (target, sent) => searchSessions(sent, (query) => target.searchSessions(query)),
  recall: (target, sent) => withArguments(recallArguments, sent, (args) => recall(target, args)),
};

/** Rejects only when the session's storage does. */
export const runTool = (target: ToolTarget, name: ToolName, sent: unknown): Promise<ToolAnswer> => RUNS[name](target, sent);
