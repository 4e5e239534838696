/**
 * Text that is sent as it is made. What fails before the first of it is a reply of its own; what fails later breaks
 * the stream off, so that nobody takes a part for the whole.
 */
import { logError } from "../log.ts";

/** `event`: in the log, when it breaks off. Throws when the first text fails. */
export async function streamText(texts: AsyncGenerator<string>, event: string): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let next = await texts.next();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        // An empty chunk would be no answer to a pull.
        while (next.done !== true && next.value === "") next = await texts.next();
        if (next.done === true) return controller.close();
        controller.enqueue(encoder.encode(next.value));
        next = { done: false, value: "" };
      } catch (error) {
        logError(event, error);
        controller.error(error);
      }
    },
    async cancel() {
      await texts.return(undefined);
    },
  });
}
