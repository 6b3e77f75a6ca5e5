import type { Diaries } from "./diaries.js";
import type { Given, Page } from "./given.js";
import type { FunctionProgram } from "./program.js";

/** Which execution of a function something is of. */
export interface FunctionName {
  readonly runId: string;
  readonly incarnation: number;
  readonly taskName: string;
}

/** A function in the memory of its worker: where its branches stand, and what it was given so far. */
export class FunctionMemory {
  readonly name: FunctionName;
  /** Where each branch stands. */
  readonly places: number[];
  /** What it was given, by name, in that order. */
  readonly given: Map<string, Given> = new Map();
  /** Values that are recorded, by the names of their steps. */
  readonly recorded: Map<string, string> = new Map();
  readonly steps: Map<string, string> = new Map();
  readonly results: Map<string, string> = new Map();
  /** What has been said to the kernel once, by whatever names it. */
  readonly said: Set<string> = new Set();
  /** Calls that it went on without. */
  readonly left: Set<string> = new Set();
  /** Up to which event it was given outcomes. */
  seenThrough = 0;
  #heardThrough = 0;
  #pending: Given[] = [];
  readonly #diaries: Diaries;

  constructor(name: FunctionName, program: FunctionProgram, diaries: Diaries) {
    this.name = name;
    this.places = program.branches.map(() => 0);
    this.#diaries = diaries;
  }

  /** Up to which event it was told of outcomes. */
  get heardThrough(): number {
    return this.#heardThrough;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** Something happened to it. */
  note(what: string): void {
    this.#diaries.note(what);
  }

  /** Takes what a page tells. */
  read({ steps, given }: Page, through: number): void {
    for (const { name, value } of steps) {
      this.recorded.set(name, value);
    }
    this.hear(given, through);
  }

  /** Takes what has ended. */
  hear(given: readonly Given[], through: number): void {
    this.#pending.push(...given.filter(({ event }) => event > this.#heardThrough));
    this.#heardThrough = Math.max(this.#heardThrough, through);
  }

  /** Forgets what it was told and not given: it is told again. */
  forgetPending(): void {
    this.#pending = [];
    this.#heardThrough = this.seenThrough;
  }

  /** Gives the code the next outcome. */
  giveNext(): Given | undefined {
    const next = this.#pending.shift();
    if (next !== undefined) {
      this.#diaries.give(this.name, this.given.size, next);
      if (this.left.has(next.name)) {
        this.note("a late result");
      }
      this.given.set(next.name, next);
      this.seenThrough = Math.max(this.seenThrough, next.event);
    }
    return next;
  }

  /** What the code makes of everything that it was given: the same whenever it comes here again. */
  get thoughts(): string {
    return [...this.given.keys()].join(" ");
  }
}
