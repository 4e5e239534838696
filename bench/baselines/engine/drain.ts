/** Reads a stream of NDJSON to its end, as a client would that throws everything away. */
import { type Done } from "./work.ts";

const NEWLINE = 10;

/** `count`: also the lines, which costs a walk over the bytes. */
export async function drain(stream: ReadableStream<Uint8Array>, count: boolean): Promise<Done> {
  let bytes = 0;
  let messages = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    if (count) for (const byte of chunk) if (byte === NEWLINE) messages += 1;
  }
  return { messages, bytes };
}
