/** Text in pieces that fit a row, cut between code points. Pure. */
export const utf8Bytes = (text: string): number => Buffer.byteLength(text);

/** UTF-16 units that surely fit, whatever their UTF-8 size: each takes at most three bytes. */
const MAX_BYTES_PER_UNIT = 3;

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** A character is at most two units: fewer would never get past one. */
const MIN_UNITS = 2;

/** At least one piece; joined they are the text; each has at most `maxBytes` bytes of UTF-8. */
export function splitText(text: string, maxBytes: number): string[] {
  if (text.length * MAX_BYTES_PER_UNIT <= maxBytes || utf8Bytes(text) <= maxBytes) return [text];
  const units = Math.floor(maxBytes / MAX_BYTES_PER_UNIT);
  if (units < MIN_UNITS) throw new RangeError(`${maxBytes} bytes hold no character`);
  const pieces: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + units, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}
