import type { ChainPoint } from "../../log/segment.js";

/** Ends of the segments since the horizon, in order: only at one of them may the horizon stand. */
export class Borders {
  #points: ChainPoint[];
  #head = 0;
  /** Where the horizon is, or will be once what is being written is durable. */
  #before: ChainPoint;

  constructor(horizon: ChainPoint, points: readonly ChainPoint[]) {
    this.#before = horizon;
    this.#points = [...points];
  }

  /** Adds the end of the log. */
  push(point: ChainPoint): void {
    this.#points.push(point);
  }

  /** Last border before a sequence (undefined: of all); what lies before it is forgotten. Sequences asked for never fall. */
  before(sequence: number | undefined): ChainPoint {
    const points = this.#points;
    for (let next = points[this.#head]; next !== undefined; next = points[this.#head]) {
      if (sequence !== undefined && next.sequence >= sequence) {
        break;
      }
      this.#before = next;
      this.#head++;
    }
    if (this.#head > 1024 && this.#head * 2 > points.length) {
      this.#points = points.slice(this.#head);
      this.#head = 0;
    }
    return this.#before;
  }
}
