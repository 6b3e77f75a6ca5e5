import type { OrderKey } from "./order-key.js";

/** What a place is taken from: the turns of its function. */
export interface PlaceTurns {
  /** The place of what ends now. */
  next(): OrderKey;
  /** The place of what is recorded now. */
  nextRecorded(): OrderKey;
  /** True when something was given that stands behind this place. */
  isBehind(key: OrderKey): boolean;
  /** Nothing is given until it is let go. */
  hold(): void;
  letGo(): void;
}

/** Where something of a function's own stands among all that it is given; and that nothing else is given while that is being found out. */
export class Place {
  readonly #turns: PlaceTurns;
  #key: OrderKey | undefined;
  #isHeld = false;
  #isOver = false;
  #onGiven: (() => void) | undefined;

  /** @param recorded Its place, when it was recorded earlier: nothing changes it then. */
  constructor(turns: PlaceTurns, recorded: OrderKey | undefined) {
    this.#turns = turns;
    this.#key = recorded;
    this.#isFixed = recorded !== undefined;
  }

  readonly #isFixed: boolean;

  /** True when its place was not recorded, or is before something that was given already. */
  get isLate(): boolean {
    return this.#key === undefined || (!this.#isFixed && this.#turns.isBehind(this.#key));
  }

  /** Its record is sent now: nothing else is given before what it gives. */
  record(): void {
    if (this.#isOver) return;
    this.hold();
    if (!this.#isFixed) this.#key = this.#turns.nextRecorded();
  }

  /** It is recorded when it is given, if at all; whatever is recorded before that comes first. */
  recordWhenGiven(onGiven: () => void): void {
    if (!this.#isFixed) this.#onGiven = onGiven;
  }

  /** True when it is recorded when it is given, if at all. */
  get isOpen(): boolean {
    return this.#onGiven !== undefined;
  }

  /** It is given now. */
  given(): void {
    this.#onGiven?.();
  }

  /** What was sent was not taken: it has no place yet. */
  notRecorded(): void {
    if (!this.#isFixed && !this.#isOver) this.#key = undefined;
    this.release();
  }

  /** The kernel knows its place. What was told from here keeps the number it was told with: real ones do not compare with those of steps on their way. */
  recordedAt(key: OrderKey): void {
    if (this.#isFixed) return;
    const told = this.#key;
    if (told === undefined || !key.isOwn || told.after !== key.after) this.#key = key;
  }

  /** Nothing else is given until it is released, or over. */
  hold(): void {
    if (!this.#isHeld && !this.#isOver) {
      this.#isHeld = true;
      this.#turns.hold();
    }
  }

  /** Others may be given meanwhile. */
  release(): void {
    if (this.#isHeld) {
      this.#isHeld = false;
      this.#turns.letGo();
    }
  }

  /** It has ended; this is its place. */
  end(): OrderKey {
    this.#isOver = true;
    const key = this.#key ?? this.#turns.next();
    this.release();
    return key;
  }
}
