/** What a search found as text for a model: each result behind its heading, none of them without end. Pure. */

/** UTF-16 units of one result: ten of them are about 20,000 tokens. */
const MAX_RESULT_UNITS = 8_000;

type Found = { readonly heading: string; readonly content: string };

const cut = (content: string): string =>
  content.length <= MAX_RESULT_UNITS
    ? content
    : `${content.slice(0, MAX_RESULT_UNITS).replace(/[\uD800-\uDBFF]$/, "")}… [${content.length - MAX_RESULT_UNITS} more characters]`;

/** Null: nothing was found. */
export const resultsText = (found: readonly Found[]): string | null =>
  found.length === 0 ? null : found.map(({ heading, content }) => `[${heading}] ${cut(content)}`).join("\n---\n");
