/** NDJSON line by line, in constant memory but for the longest line. */
export type NdjsonLine = { readonly line: number; readonly text: string };

export class NdjsonReader implements AsyncIterable<NdjsonLine> {
  /** True when reading stopped since the limit was passed. */
  tooLarge = false;
  readonly #body: ReadableStream<Uint8Array>;
  readonly #maxBytes: number;

  constructor(body: ReadableStream<Uint8Array>, maxBytes: number) {
    this.#body = body;
    this.#maxBytes = maxBytes;
  }

  /** Blank lines are skipped and counted. Bytes that are not UTF-8 become U+FFFD, and so are no valid value. */
  async *[Symbol.asyncIterator](): AsyncGenerator<NdjsonLine> {
    const decoder = new TextDecoder();
    const reader = this.#body.getReader();
    let bytes = 0;
    let line = 0;
    let pending = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.byteLength;
      if (bytes > this.#maxBytes) {
        this.tooLarge = true;
        await reader.cancel();
        return;
      }
      const texts = (pending + decoder.decode(read.value, { stream: true })).split("\n");
      pending = texts.pop() ?? "";
      for (const text of texts) {
        line += 1;
        if (text.trim() !== "") yield { line, text };
      }
    }
    if (pending.trim() !== "") yield { line: line + 1, text: pending };
  }
}
