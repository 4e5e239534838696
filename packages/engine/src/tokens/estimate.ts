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

const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const SPACE = /\s/;
/** Below it there is no CJK, and only this space beside the control characters, which part words too. */
const FIRST_CJK = 0x1100;
const LAST_CONTROL = 0x20;
const NO_BREAK_SPACE = 0xa0;

/** Tokens of a text. One pass over its UTF-16 units: it is asked for every message that is written. */
export function estimateText(text: string): number {
  const { length } = text;
  let cjk = 0;
  let cjkUnits = 0;
  let words = 0;
  let inWord = 0;
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    let isWord = unit > LAST_CONTROL && unit !== NO_BREAK_SPACE ? 1 : 0;
    if (unit >= FIRST_CJK) {
      const character = String.fromCodePoint(text.codePointAt(at) ?? unit);
      at += character.length - 1;
      const isCjk = CJK.test(character);
      if (isCjk) {
        cjk += 1;
        cjkUnits += character.length;
      }
      isWord = isCjk || SPACE.test(character) ? 0 : 1;
    }
    words += isWord & ~inWord;
    inWord = isWord;
  }
  return cjk + Math.ceil(Math.max((length - cjkUnits) / CHARACTERS_PER_TOKEN, words * TOKENS_PER_WORD));
}

/** Tokens of a value: a text as it is, another as JSON. */
export const estimateValue = (value: unknown): number =>
  value === undefined ? 0 : estimateText(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const DATA_URL = /^data:[^,]*;base64,/;

/** Tokens of an attachment. */
export const estimateMedia = (mediaType: string, bytes: number): number =>
  mediaType.startsWith("image/") ? TOKENS_PER_IMAGE : Math.min(Math.ceil(bytes / BYTES_PER_TOKEN), MAX_TOKENS_PER_FILE);

function estimateFile(mediaType: unknown, url: unknown): number {
  if (typeof url !== "string" || !DATA_URL.test(url)) return 0;
  return estimateMedia(typeof mediaType === "string" ? mediaType : "", ((url.length - url.indexOf(",") - 1) * 3) / 4);
}

type Part = Message["parts"][number];

const isTool = (type: string): boolean => type.startsWith("tool-") || type === "dynamic-tool";

function estimatePart(part: Part): number {
  if (part.type === "file") return estimateFile(part["mediaType"], part["url"]);
  if (isTool(part.type)) return estimateValue(part["input"]) + estimateValue(part["output"] ?? part["result"]);
  return estimateValue(part["text"] ?? part["reasoning"] ?? part["result"]);
}

/** Tokens of a message, its framing included. */
export const estimateMessage = (message: Message): number =>
  message.parts.reduce((sum, part) => sum + estimatePart(part), TOKENS_PER_MESSAGE);
