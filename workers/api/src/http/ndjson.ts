/**
 * NDJSON line by line, in constant memory but for one line. Lines are cut as bytes and decoded strictly, so
 * that what is not UTF-8 is told of and never changed. Blank lines are skipped and counted.
 */
export type NdjsonFault = "too_long" | "not_utf8";
export type NdjsonLine =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly fault: NdjsonFault };

export type NdjsonLimits = { readonly maxBytes: number; readonly maxLineBytes: number };

const NEWLINE = 0x0a;

/** Collects one line's bytes from the chunks that it spans; past the limit it only goes on counting. */
class LineBuffer {
  #pieces: Uint8Array[] = [];
  #size = 0;
  readonly #limit: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(piece: Uint8Array): void {
    this.#size += piece.byteLength;
    if (this.#size <= this.#limit) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** The line's text or fault, null when it is blank; the buffer is empty after. */
  take(line: number): NdjsonLine | null {
    const bytes = new Uint8Array(this.#size > this.#limit ? 0 : this.#size);
    let offset = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, offset);
      offset += piece.byteLength;
    }
    const tooLong = this.#size > this.#limit;
    this.#pieces = [];
    this.#size = 0;
    if (tooLong) return { line, fault: "too_long" };
    try {
      const text = this.#decoder.decode(bytes);
      return text.trim() === "" ? null : { line, text };
    } catch {
      return { line, fault: "not_utf8" };
    }
  }
}

export class NdjsonReader implements AsyncIterable<NdjsonLine> {
  /** True when reading stopped since `maxBytes` was passed. */
  tooLarge = false;
  readonly #body: ReadableStream<Uint8Array>;
  readonly #limits: NdjsonLimits;

  constructor(body: ReadableStream<Uint8Array>, limits: NdjsonLimits) {
    this.#body = body;
    this.#limits = limits;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<NdjsonLine> {
    const reader = this.#body.getReader();
    const buffer = new LineBuffer(this.#limits.maxLineBytes);
    let bytes = 0;
    let line = 1;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const chunk = read.value;
      bytes += chunk.byteLength;
      if (bytes > this.#limits.maxBytes) {
        this.tooLarge = true;
        await reader.cancel();
        return;
      }
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        buffer.add(chunk.subarray(from, at));
        const taken = buffer.take(line++);
        if (taken !== null) yield taken;
        from = at + 1;
      }
      buffer.add(chunk.subarray(from));
    }
    const last = buffer.take(line);
    if (last !== null) yield last;
  }
}
