/**
 * The place of a text where most of a query is, with what was found between « and ». The marks are for the
 * eye: a text may have such characters of its own, and its content comes beside the snippet. Pure.
 */
import type { Term } from "./query.ts";
import { type Word, normalText, wordsOf } from "./words.ts";

/** UTF-16 units from the first to the last that is marked, and of what is shown before and after. */
const WINDOW_UNITS = 160;
const MARGIN_UNITS = 40;

type Span = { readonly start: number; readonly end: number; readonly term: number };

/** Whether the last of these words is the end of the term. */
function endsWith(words: readonly Word[], { stems, spellings, prefix }: Term): boolean {
  const from = words.length - stems.length;
  if (from < 0) return false;
  return stems.every((stem, at) => {
    const word = words[from + at];
    if (word === undefined) return false;
    const isOpen = prefix && at === stems.length - 1;
    return isOpen ? word.spelling.startsWith(spellings[at] ?? "") : word.stem === stem;
  });
}

/** Where the terms are, until each was seen and a window has passed. */
function spansOf(text: string, terms: readonly Term[]): Span[] {
  const longest = Math.max(0, ...terms.map((term) => term.stems.length));
  const missing = new Set(terms.keys());
  const recent: Word[] = [];
  const spans: Span[] = [];
  for (const word of wordsOf(text)) {
    if (missing.size === 0 && word.start > (spans.at(-1)?.start ?? 0) + WINDOW_UNITS) break;
    recent.push(word);
    if (recent.length > longest) recent.shift();
    for (const [index, term] of terms.entries()) {
      if (!endsWith(recent, term)) continue;
      spans.push({ start: recent.at(-term.stems.length)?.start ?? word.start, end: word.end, term: index });
      missing.delete(index);
    }
  }
  return spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
}

/** The spans of the window with most of the terms, the first of these. */
function bestWindow(spans: readonly Span[]): Span[] {
  let best: Span[] = [];
  let most = 0;
  for (const [index, first] of spans.entries()) {
    const window: Span[] = [];
    for (let at = index; at < spans.length; at++) {
      const span = spans[at];
      if (span === undefined || span.start > first.start + WINDOW_UNITS) break;
      window.push(span);
    }
    const found = new Set(window.map((span) => span.term)).size;
    if (found <= most) continue;
    [best, most] = [window, found];
  }
  return best;
}

const isLowHalf = (text: string, at: number): boolean => /^[\uDC00-\uDFFF]/.test(text.slice(at, at + 1));
const onCharacter = (text: string, at: number): number => (isLowHalf(text, at) ? at - 1 : at);

function marked(text: string, spans: readonly Span[], from: number, to: number): string {
  let shown = "";
  let at = from;
  for (const { start, end } of spans) {
    if (start < at) continue;
    shown += `${text.slice(at, start)}«${text.slice(start, end)}»`;
    at = end;
  }
  return shown + text.slice(at, Math.max(at, to));
}

export function snippetOf(content: string, terms: readonly Term[]): string {
  const text = normalText(content);
  const spans = bestWindow(spansOf(text, terms));
  const first = spans[0]?.start ?? 0;
  const last = spans.reduce((end, span) => Math.max(end, span.end), first);
  const from = onCharacter(text, Math.max(0, first - MARGIN_UNITS));
  const to = onCharacter(text, Math.min(text.length, Math.max(last + MARGIN_UNITS, from + WINDOW_UNITS)));
  const shown = marked(text, spans, from, to).replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${shown}${to < text.length ? "…" : ""}`;
}
