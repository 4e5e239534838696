/**
 * Named points at which the object dies, for tests of what survives. With `FAULT_POINTS` off they do
 * nothing. A point fires once: the death forgets it.
 */
export type FaultPoint =
  | "media:uploaded"
  | "append:inserted"
  | "edit:replaced"
  | "remove:removed"
  | "append:written"
  | "append:armed"
  | "drain:begun"
  | "drain:woken"
  | "drain:sent"
  | "claim:written"
  | "commit:before"
  | "commit:recorded"
  | "commit:summarised"
  | "commit:written"
  | "fail:written";

export class FaultPoints {
  readonly #enabled: boolean;
  readonly #die: (point: FaultPoint) => void;
  readonly #armed = new Set<FaultPoint>();

  constructor(enabled: boolean, die: (point: FaultPoint) => void) {
    this.#enabled = enabled;
    this.#die = die;
  }

  arm(point: FaultPoint): void {
    if (!this.#enabled) throw new Error("fault points are off");
    this.#armed.add(point);
  }

  hit(point: FaultPoint): void {
    if (this.#armed.delete(point)) this.#die(point);
  }
}
