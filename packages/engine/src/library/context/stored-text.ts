/**
 * A text in the object's own database as a writable provider. Read and written without waiting, so that adding to
 * it loses nothing and a block can be read at once.
 */
import type { WritableContextProvider } from "../../context/providers.ts";

export class StoredText implements WritableContextProvider {
  readonly read: () => string | null;
  readonly #write: (content: string) => void;

  constructor(read: () => string | null, write: (content: string) => void) {
    this.read = read;
    this.#write = write;
  }

  get(): string | null {
    return this.read();
  }

  set(content: string): void {
    this.#write(content);
  }

  /** The first one that is kept stands: what is there then. */
  keepFirst(content: string): string {
    const before = this.read();
    if (before !== null) return before;
    this.set(content);
    return content;
  }
}
