/** A context block as a prompt shows it and as tools see it, wherever it is stored. Pure. */
import { estimateText } from "../tokens/estimate.ts";
import type { BlockAbilities } from "./providers.ts";

/** A named section of the system prompt. Source of the shape: Cloudflare's Session API. */
export type ContextBlock = BlockAbilities & {
  readonly label: string;
  readonly description?: string | undefined;
  readonly content: string;
  /** Of the content, by the one estimator. */
  readonly tokens: number;
  /** The content has at most so many. */
  readonly maxTokens?: number | undefined;
};

/** What a model writes into it has a key of its own. */
export const isKeyed = ({ isSkill, isSearchable }: BlockAbilities): boolean => isSkill || isSearchable;

/** What the content of a block becomes when more is added below it. */
export const appended = (content: string, addition: string): string =>
  content === "" || addition.startsWith("\n") ? content + addition : `${content}\n${addition}`;

/** Tokens beyond the limit; null when the content fits. The limit itself fits. */
export function excess(
  content: string,
  maxTokens: number | null | undefined,
): { readonly tokens: number; readonly max: number } | null {
  if (maxTokens === null || maxTokens === undefined) return null;
  const tokens = estimateText(content);
  return tokens > maxTokens ? { tokens, max: maxTokens } : null;
}

/** The share of its limit that a block uses, rounded. */
export const percentUsed = (tokens: number, maxTokens: number): number => Math.round((tokens / maxTokens) * 100);
