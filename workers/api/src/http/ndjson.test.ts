import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type NdjsonLine, NdjsonReader } from "./ndjson.ts";

const LIMITS = { maxBytes: 1_000_000, maxLineBytes: 1_000 };
const encode = (text: string) => new TextEncoder().encode(text);

function streamOf(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function linesOf(bytes: Uint8Array, size = 64, limits = LIMITS) {
  const reader = new NdjsonReader(streamOf(bytes, size), limits);
  const lines: NdjsonLine[] = [];
  for await (const line of reader) lines.push(line);
  return { lines, tooLarge: reader.tooLarge };
}

describe("NdjsonReader", () => {
  test("gives the same lines however the bytes are cut", async () => {
    const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => JSON.stringify(text)));
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 50 }), async (lines, size) => {
        const read = await linesOf(encode(lines.join("\n")), size);
        expect(read.lines).toEqual(lines.map((text, index) => ({ line: index + 1, text })));
      }),
    );
  });

  test("skips blank lines and counts them", async () => {
    const { lines } = await linesOf(encode("\n1\r\n\n2"));
    expect(lines).toEqual([
      { line: 2, text: "1\r" },
      { line: 4, text: "2" },
    ]);
  });

  test("tells of a line that is not UTF-8 and goes on", async () => {
    const { lines } = await linesOf(new Uint8Array([0xff, 0x0a, 0x31]));
    expect(lines).toEqual([
      { line: 1, fault: "not_utf8" },
      { line: 2, text: "1" },
    ]);
    expect((await linesOf(new Uint8Array([0x31, 0xc3]))).lines).toEqual([{ line: 1, fault: "not_utf8" }]);
  });

  test("tells of a line that is too long and goes on", async () => {
    const { lines } = await linesOf(encode(`${"x".repeat(1_001)}\n1`));
    expect(lines).toEqual([
      { line: 1, fault: "too_long" },
      { line: 2, text: "1" },
    ]);
  });

  test("stops when the body is too large", async () => {
    const read = await linesOf(encode("1\n".repeat(100)), 10, { maxBytes: 50, maxLineBytes: 10 });
    expect(read.tooLarge).toBe(true);
    expect(read.lines).toHaveLength(25);
  });
});
