/** The `Range` header of RFC 9110, one range of bytes. Pure. */
const RANGE = /^bytes=(\d*)-(\d*)$/;

/** Null when there is none, or one of several or of another unit, which may be ignored. */
export function byteRange(
  header: string | undefined,
  size: number,
): { readonly offset: number; readonly length: number } | "unsatisfiable" | null {
  const match = RANGE.exec(header ?? "");
  if (match === null) return null;
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return null;
  const offset = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  return offset > end || offset >= size ? "unsatisfiable" : { offset, length: end - offset + 1 };
}
