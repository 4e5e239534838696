/**
 * The messages that every side stores: the same objects in the same order, made once and before the clock
 * runs. Ids are random, as the AI SDK's are; the generator has a fixed seed.
 */
import type { Message } from "@sessionplane/shared/message";
import type { Kind } from "./work.ts";

const WORDS =
  "the a session of what an agent said and which tool it called before this turn was summarised into fewer words than it had when someone asked again about invoice numbers, delivery dates or the weather in Lisbon".split(
    " ",
  );
const SHORT_CHARACTERS = 320;
const LONG_CHARACTERS = 8_000;
const TOOL_RESULTS = 5;
const TOOL_RESULT_CHARACTERS = 150;

/** Mulberry32: small, and the same on every machine. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Random = () => number;

const idOf = (random: Random): string => Array.from({ length: 16 }, () => Math.floor(random() * 36).toString(36)).join("");

function textOf(random: Random, characters: number): string {
  const words: string[] = [];
  for (let length = 0; length < characters;) {
    const word = WORDS[Math.floor(random() * WORDS.length)] ?? "";
    words.push(word);
    length += word.length + 1;
  }
  return words.join(" ");
}

function toolPart(random: Random) {
  const results = Array.from({ length: TOOL_RESULTS }, (_, index) => ({
    title: `result ${index}`,
    score: Math.floor(random() * 100),
    text: textOf(random, TOOL_RESULT_CHARACTERS),
  }));
  return {
    type: "tool-search",
    toolCallId: `call_${idOf(random)}`,
    state: "output-available",
    input: { query: textOf(random, 60), limit: TOOL_RESULTS },
    output: { results },
  };
}

function messageOf(kind: Kind, index: number, random: Random): Message {
  const id = idOf(random);
  if (kind === "tools") return { id, role: "assistant", parts: [toolPart(random)] };
  const text = textOf(random, kind === "short" ? SHORT_CHARACTERS : LONG_CHARACTERS);
  return { id, role: index % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
}

const SEEDS: Readonly<Record<Kind, number>> = { short: 1, long: 2, tools: 3 };
const made = new Map<Kind, { readonly random: Random; readonly messages: Message[] }>();

/** The first `count` messages of a kind. Through JSON, as a call brings them: no text is a rope any more. */
export function messagesOf(kind: Kind, count: number): readonly Message[] {
  const known = made.get(kind) ?? { random: generator(SEEDS[kind]), messages: [] };
  made.set(kind, known);
  for (let index = known.messages.length; index < count; index++)
    known.messages.push(JSON.parse(JSON.stringify(messageOf(kind, index, known.random))) as Message);
  return known.messages.length === count ? known.messages : known.messages.slice(0, count);
}

/** A large heap would slow down what is measured next. */
export const forgetMessages = (): void => made.clear();

export const oneMore = (): Message => ({
  id: crypto.randomUUID(),
  role: "user",
  parts: [{ type: "text", text: "one more question about the same invoice" }],
});
