/**
 * The key of an entry that a model writes without naming one: of its title, or of its content. Pure. The same
 * title names the same entry, so that writing it again replaces it.
 */
const MAX_SLUG_UNITS = 60;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const OTHER_LETTER = /(?![a-zA-Z0-9])[\p{L}\p{M}\p{N}]/u;

/** FNV-1a over UTF-8, 32 bits, in base 36. Not for secrets: it keeps keys apart that read alike. */
function fingerprint(text: string): string {
  let hash = FNV_OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return (hash >>> 0).toString(36);
}

/** Empty for a text without Latin letters and digits. */
const slugOf = (text: string): string =>
  text
    .slice(0, MAX_SLUG_UNITS)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");

/** Whether a slug leaves out letters or digits of its text: another text may have the same one. */
const isLossy = (text: string): boolean => text.length > MAX_SLUG_UNITS || OTHER_LETTER.test(text);

const withFingerprint = (text: string): string => `${slugOf(text) || "entry"}-${fingerprint(text)}`;

/** Letters, digits and dashes, begins with none of these dashes, at most 70 characters. */
export function entryKey(title: string | undefined, content: string): string {
  if (title === undefined || title.trim() === "") return withFingerprint(content);
  const slug = slugOf(title);
  return slug === "" || isLossy(title) ? withFingerprint(title) : slug;
}
