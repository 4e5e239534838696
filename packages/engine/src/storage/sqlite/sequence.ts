/**
 * The one counter of a session's facts: messages, usage events, jobs, overlays, settings. A number is
 * never used twice, so that order, cursors and the projection can rest on it. In memory; read at start.
 */
export class Sequence {
  #head: number;

  constructor(head: number) {
    this.#head = head;
  }

  /** The newest number that was given out. */
  get head(): number {
    return this.#head;
  }

  next(): number {
    this.#head += 1;
    return this.#head;
  }

  /** The numbers after `head` were rolled back with their rows: nobody has seen them. */
  rollBackTo(head: number): void {
    this.#head = head;
  }
}
