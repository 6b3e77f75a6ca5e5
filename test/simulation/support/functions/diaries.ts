import type { Given } from "./given.js";
import type { FunctionName } from "./memory.js";

/** What functions were given, in which order: whichever worker runs one, and however often, it is given the same. */
export class Diaries {
  /** By run, incarnation and task. */
  readonly all: Map<string, Given[]> = new Map();
  /** How often what happened to functions. */
  readonly counts: Map<string, number> = new Map();
  readonly #complain: (text: string) => void;

  constructor(complain: (text: string) => void) {
    this.#complain = complain;
  }

  /** Something happened to a function. */
  note(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** A function is given something, after so much else. */
  give(name: FunctionName, index: number, given: Given): void {
    const key = diaryKey(name);
    const diary = this.all.get(key) ?? [];
    this.all.set(key, diary);
    const before = diary[index];
    if (before === undefined) {
      this.#requireNew(key, diary, given);
      diary.push(given);
    } else if (textOf(before) !== textOf(given)) {
      this.#complain(
        `function ${key} was given ${textOf(given)} as number ${index}, but ${textOf(before)} before`,
      );
    }
  }

  #requireNew(key: string, diary: readonly Given[], given: Given): void {
    if (diary.some(({ name }) => name === given.name)) {
      this.#complain(`function ${key} was given ${given.name} twice`);
    }
  }
}

/** How a diary is found. */
export function diaryKey({ runId, incarnation, taskName }: FunctionName): string {
  return `${runId}/${incarnation}/${taskName}`;
}

function textOf({ event, name, text }: Given): string {
  return `${name} (event ${event}) ${text}`;
}
