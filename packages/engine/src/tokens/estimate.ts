/**
 * The one token estimator: trigger, plan, windows, budgets and stats use what it counted when a message
 * was written. Pure. Source of the first formula and of the media figures: Cloudflare's Agents packages;
 * CJK is counted by character, since four characters a token is three times too low there.
 */
import type { Message } from "@sessionplane/shared/message";

const CHARACTERS_PER_TOKEN = 4;
const TOKENS_PER_WORD = 1.3;
/** Role and framing of a message. */
const TOKENS_PER_MESSAGE = 4;
/** What vision models charge for an ordinary image. */
const TOKENS_PER_IMAGE = 1_600;
/** A document's tokens are not in its bytes: an upper bound. */
const MAX_TOKENS_PER_FILE = 20_000;
const BYTES_PER_TOKEN = 4;

const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;
const WORD = /\S+/g;

const countMatches = (text: string, pattern: RegExp): number => {
  let count = 0;
  for (const _match of text.matchAll(pattern)) count++;
  return count;
};

/** Tokens of a text. */
export function estimateText(text: string): number {
  if (text === "") return 0;
  const cjk = countMatches(text, CJK);
  const rest = cjk === 0 ? text : text.replace(CJK, " ");
  const characters = (cjk === 0 ? text.length : rest.length - cjk) / CHARACTERS_PER_TOKEN;
  return cjk + Math.ceil(Math.max(characters, countMatches(rest, WORD) * TOKENS_PER_WORD));
}

const estimateJson = (value: unknown): number =>
  value === undefined ? 0 : estimateText(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const DATA_URL = /^data:[^,]*;base64,/;

function estimateFile(mediaType: unknown, url: unknown): number {
  if (typeof url !== "string" || !DATA_URL.test(url)) return 0;
  if (typeof mediaType === "string" && mediaType.startsWith("image/")) return TOKENS_PER_IMAGE;
  const bytes = ((url.length - url.indexOf(",") - 1) * 3) / 4;
  return Math.min(Math.ceil(bytes / BYTES_PER_TOKEN), MAX_TOKENS_PER_FILE);
}

type Part = Message["parts"][number];

const isTool = (type: string): boolean => type.startsWith("tool-") || type === "dynamic-tool";

function estimatePart(part: Part): number {
  if (part.type === "file") return estimateFile(part["mediaType"], part["url"]);
  if (isTool(part.type)) return estimateJson(part["input"]) + estimateJson(part["output"] ?? part["result"]);
  return estimateJson(part["text"] ?? part["reasoning"] ?? part["result"]);
}

/** Tokens of a message, its framing included. */
export const estimateMessage = (message: Message): number =>
  message.parts.reduce((sum, part) => sum + estimatePart(part), TOKENS_PER_MESSAGE);
