import { type Chunk, chunkPointOf } from "../../log/chunk.js";
import type { StoredRuns } from "./run-reader.js";
import { chunkAt } from "./stored-run.js";

/** Finds the chunk that holds an event. Chunks follow one another, so the next one is usually the one after the last. */
export class ChunkCursor {
  readonly #runs: StoredRuns;
  readonly #run: number;
  #chunk: Chunk | undefined;

  constructor(runs: StoredRuns, run: number) {
    this.#runs = runs;
    this.#run = run;
  }

  /** @param count chunks of the run. */
  chunkWith(event: number, count: number): Chunk {
    const last = this.#chunk;
    const isNext = last !== undefined && chunkPointOf(last).nextEventNumber === event;
    const chunk = isNext
      ? chunkAt(this.#runs.source, this.#run, last.chunkNumber + 1)
      : (this.#held(event) ?? this.#search(event, count));
    this.#chunk = chunk;
    return chunk;
  }

  #held(event: number): Chunk | undefined {
    const held = this.#chunk;
    const isHeld =
      held !== undefined &&
      held.firstEventNumber <= event &&
      event < chunkPointOf(held).nextEventNumber;
    return isHeld ? held : undefined;
  }

  /** First event of the last chunk that begins at a sequence or before it; 1 when none does. */
  numberBefore(sequence: number, count: number): number {
    if (count === 0) {
      return 1;
    }
    return this.#last(count, (chunk) => firstSequenceOf(chunk) <= sequence).firstEventNumber;
  }

  #search(event: number, count: number): Chunk {
    return this.#last(count, ({ firstEventNumber }) => firstEventNumber <= event);
  }

  /** The last of the first `count` (≥ 1) chunks that is early enough; the first, when none is. */
  #last(count: number, isEarly: (chunk: Chunk) => boolean): Chunk {
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (isEarly(chunkAt(this.#runs.source, this.#run, middle))) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return chunkAt(this.#runs.source, this.#run, low);
  }
}

function firstSequenceOf(chunk: Chunk): number {
  const [first] = chunk.slices();
  return first?.firstSequence ?? 0;
}
