/** How much of a list fits a number of tokens, joined as it will be shown. Pure. */
import { estimateText } from "../tokens/estimate.ts";

/** The longest beginning of `items` that fits. By halves: a text is counted about ten times, not once an item. */
export function takeFitting(items: readonly string[], separator: string, maxTokens: number): string[] {
  let [fits, tooMany] = [0, items.length + 1];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (estimateText(items.slice(0, middle).join(separator)) <= maxTokens) fits = middle;
    else tooMany = middle;
  }
  return items.slice(0, fits);
}
