/**
 * Who listens through a stream, while the object is awake. A listener takes what it is ready for: nothing is
 * kept for it but its place in the log.
 */
import type { SessionStore } from "../session-store.ts";
import { readEvents } from "./read-events.ts";

/** Proxies close what is silent for longer. */
const HEARTBEAT_MS = 15_000;
/** A listener that takes nothing for so long has gone, whatever its connection says. */
const PATIENCE_MS = 60_000;
const HEARTBEAT = ": still here\n\n";

const encoder = new TextEncoder();

export class Listeners {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Something was written: whoever waits reads on. */
  wake(): void {
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  /** True when something was written, false when it was time for a heartbeat. */
  #wait(): Promise<boolean> {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(go);
        resolve(false);
      }, HEARTBEAT_MS);
      this.#waiting.add(go);
    });
  }

  /**
   * Server-sent events after a place in the log. `settle` waits until what was written is durable: nobody is
   * told of what a death could take back.
   */
  stream(store: SessionStore, after: number, settle: () => Promise<void>): ReadableStream<Uint8Array> {
    let place = after;
    const listener = { isOpen: true };
    let impatience: ReturnType<typeof setTimeout> | undefined;
    this.#count += 1;
    const close = () => {
      if (listener.isOpen) this.#count -= 1;
      listener.isOpen = false;
      clearTimeout(impatience);
    };
    const send = (controller: ReadableByteStreamController, text: string) => {
      controller.enqueue(encoder.encode(text));
      impatience = setTimeout(() => {
        close();
        controller.error(new Error("the listener takes nothing"));
      }, PATIENCE_MS);
    };
    return new ReadableStream({
      type: "bytes",
      start: (controller: ReadableByteStreamController) => {
        // A listener that is cut off before the first event goes on from here.
        controller.enqueue(encoder.encode(`id: ${place}\n\n`));
      },
      pull: async (controller: ReadableByteStreamController) => {
        clearTimeout(impatience);
        while (listener.isOpen) {
          if (store.row.status === "erased") {
            close();
            controller.close();
            return controller.byobRequest?.respond(0);
          }
          const events = readEvents(store, place);
          const last = events.at(-1);
          if (last !== undefined) {
            await settle();
            place = last.seq;
            return send(
              controller,
              events.map(({ seq, type, data }) => `id: ${seq}\nevent: ${type}\ndata: ${data}\n\n`).join(""),
            );
          }
          if (!(await this.#wait()) && listener.isOpen) return send(controller, HEARTBEAT);
        }
      },
      cancel: close,
    });
  }
}
