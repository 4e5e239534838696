/**
 * Text of any script in a header. It comes as it is, in UTF-8, or in the form of RFC 8187
 * (`UTF-8''%E2%82%AC`), which every client can send; it leaves in the second form unless it is plain ASCII. Pure.
 */
import { type Result, err, ok } from "@sessionplane/shared/result";

const ENCODED = /^utf-8'[^']*'(.*)$/i;
const LOOKS_ENCODED = /^utf-8'/i;
const PLAIN = /^[\x20-\x7e]*$/;
/** What the platform reads where bytes are no UTF-8. */
const REPLACEMENT = "\uFFFD";

/** The text, or what is wrong with the header. */
export function decodeTextHeader(header: string): Result<string, string> {
  const encoded = ENCODED.exec(header)?.[1];
  if (encoded === undefined) return header.includes(REPLACEMENT) ? err("is not UTF-8") : ok(header);
  try {
    return ok(decodeURIComponent(encoded));
  } catch {
    return err("is not percent-encoded UTF-8 after its UTF-8''");
  }
}

export const encodeTextHeader = (text: string): string =>
  PLAIN.test(text) && !LOOKS_ENCODED.test(text)
    ? text
    : `UTF-8''${encodeURIComponent(text).replaceAll(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)}`;
