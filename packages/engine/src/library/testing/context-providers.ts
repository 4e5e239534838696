/** Context providers of a caller's own, in memory, that say what was asked of them. Tests alone import it. */
import type { ContextProvider, SearchProvider, SkillProvider, WritableContextProvider } from "../sessions.ts";

type Watched = { readonly calls: string[] };

export function readonlyText(text: string | null): ContextProvider & Watched {
  const calls: string[] = [];
  return {
    calls,
    init: (label) => void calls.push(`init ${label}`),
    get: async () => {
      calls.push("get");
      return text;
    },
  };
}

export function writableText(
  initial: string | null = null,
): WritableContextProvider & Watched & { readonly text: () => string | null } {
  let text = initial;
  const calls: string[] = [];
  return {
    calls,
    text: () => text,
    init: (label) => void calls.push(`init ${label}`),
    get: async () => {
      calls.push("get");
      return text;
    },
    set: async (content) => {
      calls.push(`set ${content}`);
      text = content;
    },
  };
}

type Document = { readonly content: string; readonly description?: string | undefined };
type Documents = Record<string, Document>;

const listing = (documents: Documents): string | null =>
  Object.entries(documents)
    .map(([key, { description }]) => `- ${key}${description === undefined ? "" : `: ${description}`}`)
    .join("\n") || null;

export function skills(contents: Record<string, string>): Required<SkillProvider> & Watched & { readonly documents: Documents } {
  const documents: Documents = Object.fromEntries(Object.entries(contents).map(([key, content]) => [key, { content }]));
  const calls: string[] = [];
  return {
    calls,
    documents,
    init: (label) => void calls.push(`init ${label}`),
    get: async () => {
      calls.push("get");
      return listing(documents);
    },
    load: async (key) => {
      calls.push(`load ${key}`);
      return documents[key]?.content ?? null;
    },
    set: async (key, content, description) => {
      calls.push(`set ${key}`);
      documents[key] = { content, description };
    },
  };
}

export function entries(): Required<SearchProvider> & Watched {
  const kept = new Map<string, string>();
  const calls: string[] = [];
  return {
    calls,
    init: (label) => void calls.push(`init ${label}`),
    get: async () => {
      calls.push("get");
      return kept.size === 0 ? null : `${kept.size} entries indexed.`;
    },
    search: async (query) => [...kept.values()].filter((content) => content.includes(query)).join("\n") || null,
    set: async (key, content) => void kept.set(key, content),
  };
}
