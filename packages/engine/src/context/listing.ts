/** Documents as the lines of a list in a prompt. Pure. */
import { utf8Bytes } from "../messages/split-text.ts";

export type Listed = { readonly key: string; readonly description: string | null };

const lineOf = ({ key, description }: Listed): string => {
  const said = (description ?? "").replaceAll(/\s+/g, " ").trim();
  return said === "" ? `- ${key}` : `- ${key}: ${said}`;
};

/** As many lines as fit, and how many more there are: a list that fills the prompt helps nobody. */
export function listingOf(documents: Iterable<Listed>, maxBytes = Number.POSITIVE_INFINITY): string {
  const lines: string[] = [];
  let bytes = 0;
  let more = 0;
  for (const document of documents) {
    const line = lineOf(document);
    bytes += utf8Bytes(line) + 1;
    if (more === 0 && bytes <= maxBytes) lines.push(line);
    else more += 1;
  }
  return [...lines, ...(more === 0 ? [] : [`- … and ${more} more, which can be loaded by their keys`])].join("\n");
}
