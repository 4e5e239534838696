/** A history that comes in windows, as single messages and as batches of a caller's size. */
import { MAX_PAGE_BYTES } from "../history/recent-window.ts";
import type { HistoryBatchOptions, Weighed } from "./conversation.ts";
import type { SessionMessage } from "./session-message.ts";

type Windows = AsyncIterable<readonly Weighed[]>;

const DEFAULT_BATCH_SIZE = 50;

async function* weighedOnes(windows: Windows, signal: AbortSignal | undefined): AsyncGenerator<Weighed, void, undefined> {
  for await (const window of windows) {
    for (const one of window) {
      signal?.throwIfAborted();
      yield one;
    }
  }
}

export async function* oneByOne(windows: Windows, signal?: AbortSignal): AsyncGenerator<SessionMessage, void, undefined> {
  for await (const { message } of weighedOnes(windows, signal)) yield message;
}

/** No batch is empty; a message that is larger than a batch may be comes alone. */
export async function* batches(
  windows: Windows,
  { batchSize = DEFAULT_BATCH_SIZE, maxBatchBytes = MAX_PAGE_BYTES, signal }: HistoryBatchOptions,
): AsyncGenerator<SessionMessage[], void, undefined> {
  let batch: SessionMessage[] = [];
  let held = 0;
  for await (const { message, bytes } of weighedOnes(windows, signal)) {
    if (batch.length > 0 && (batch.length >= Math.max(1, batchSize) || held + bytes > maxBatchBytes)) {
      yield batch;
      batch = [];
      held = 0;
    }
    batch.push(message);
    held += bytes;
  }
  if (batch.length > 0) yield batch;
}
