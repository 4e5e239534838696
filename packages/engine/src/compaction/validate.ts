/** Whether a model's text may stand for a range. Pure. */
import { estimateText } from "../tokens/estimate.ts";
import { SECTIONS } from "./prompt.ts";

export type SummaryCheck = {
  readonly text: string;
  /** As the AI SDK unifies it. */
  readonly finishReason: string;
  /** More would gain too little, or be more than the policy allows. */
  readonly maxTokens: number;
};

/** What models emit when they mistake the transcript for their own turn. */
const DEBRIS =
  /<\/?(?:think|thinking|tool_call|tool_use|function_calls?|invoke|tool_response)\b|<\|[a-z_]+\|>|^\s*\{\s*"(?:tool|name|function)"/im;

export const holdsDebris = (text: string): boolean => DEBRIS.test(text);

/** Why the text may not stand for its range; null when it may. */
export function rejectionOf({ text, finishReason, maxTokens }: SummaryCheck): string | null {
  if (finishReason !== "stop") return `the model stopped early (${finishReason})`;
  if (text.trim() === "") return "the summary was empty";
  if (holdsDebris(text)) return "the summary held tool calls or reasoning";
  const missing = SECTIONS.filter((name) => !new RegExp(`^##\\s+${name}\\s*$`, "mi").test(text));
  if (missing.length > 0) return `sections were missing: ${missing.join(", ")}`;
  const tokens = estimateText(text);
  return tokens > maxTokens ? `the summary had ${tokens} tokens, and at most ${maxTokens} were allowed` : null;
}
