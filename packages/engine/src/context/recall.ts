/** Originals behind summaries as text for a model: as many as fit, and where to go on. Pure. */
import { estimateText } from "../tokens/estimate.ts";

/** What a model reads of a conversation in one call. */
export const RECALL_TOKENS = 4_000;
/** Of a single message that is larger than all of that. */
const MAX_MESSAGE_CHARACTERS = 12_000;

export type Original = { readonly id: string; readonly role: string; readonly text: string };

const cut = (text: string): string => {
  if (text.length <= MAX_MESSAGE_CHARACTERS) return text;
  return `${text.slice(0, MAX_MESSAGE_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "")}… [${text.length - MAX_MESSAGE_CHARACTERS} more characters]`;
};

const show = ({ id, role, text }: Original): string => `[${role}] (${id}) ${cut(text)}`;

/** Null when there are none. The first is always in; reads no further than what fits. */
export function recallText(originals: Iterable<Original>, maxTokens = RECALL_TOKENS): string | null {
  const shown: string[] = [];
  let tokens = 0;
  let last = "";
  for (const original of originals) {
    const text = show(original);
    tokens += estimateText(text);
    if (shown.length > 0 && tokens > maxTokens) {
      shown.push(`There are more. To go on, call again with after: ${JSON.stringify(last)}`);
      break;
    }
    shown.push(text);
    last = original.id;
  }
  return shown.length === 0 ? null : shown.join("\n---\n");
}
