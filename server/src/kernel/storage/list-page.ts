import type { Run } from "../../core/state.js";
import type { Page, PageRequest } from "../kernel-api.js";
import { PageRows } from "../page-rows.js";
import type { Residency } from "../residency.js";
import type { Resident } from "../resident.js";
import {
  type Candidate,
  type CandidateStream,
  ListStream,
  type PlaceOrder,
  UnionStream,
} from "./list-stream.js";
import { readToken, writeToken } from "./list-tokens.js";
import type { StoredRuns } from "./run-reader.js";

/** A list and how its items are found. */
export interface Listing<T> {
  /** What the list is and is filtered by; tokens are bound to it. */
  readonly filter: readonly string[];
  /** Length of the places by which it is ordered. */
  readonly placeBytes: number;
  readonly order: PlaceOrder;
  /** Candidates from index rows, behind a place. */
  readonly stream: (after: Uint8Array | undefined) => CandidateStream | undefined;
  /** Candidates of a run that has something newer in memory than its rows; more than match may be given. */
  readonly inMemory: (resident: Resident) => readonly Candidate[];
  /** A run that is asked as well although it has nothing newer in memory. */
  readonly always?: Resident | undefined;
  /** The last word, by the state. */
  readonly isMatch: (run: Run, number: number) => boolean;
  readonly project: (run: Run, runNumber: number, number: number) => T;
}

/** Where runs are looked for. */
export interface ListedRuns {
  readonly residency: Residency;
  readonly runs: StoredRuns;
  /** Every run in memory that has something newer than its rows; one may come twice. */
  readonly unsaved: () => Iterable<Resident>;
}

/** Candidates that one page may look at; a list that finds little gives short pages. */
const looksMax = 10_000;

/**
 * Reads one page. Memory is looked at first, in one go: a run that is saved after that is in the index rows, which are read later, and one
 * that was not newer in memory was there before. Each candidate is judged by its state, so rows that lag behind do no harm.
 */
export async function readPage<T>(
  source: ListedRuns,
  page: PageRequest<T>,
  listing: Listing<T>,
): Promise<Page<T>> {
  const after = readToken(listing.filter, page.token, listing.placeBytes);
  const inMemory = new ListStream(candidatesInMemory(source, listing, after), listing.order);
  const stored = listing.stream(after);
  const streams = stored === undefined ? [inMemory] : [inMemory, stored];
  const candidates = new UnionStream(streams, listing.order);
  const reader = new RunCursor(source);
  const rows = new PageRows(page);
  const { items } = rows;
  let last: Uint8Array | undefined;
  for (let looks = 0; ; looks++) {
    const candidate = await candidates.first();
    if (candidate === undefined) {
      return { items, nextPageToken: "" };
    }
    if (looks >= looksMax && last !== undefined) {
      return { items, nextPageToken: writeToken(listing.filter, last) };
    }
    const run = await reader.read(candidate.runNumber);
    const isThere = run !== undefined && run.deletion === undefined;
    if (isThere && listing.isMatch(run, candidate.number)) {
      const isOn = rows.add(() => listing.project(run, candidate.runNumber, candidate.number));
      if (!isOn && last !== undefined) {
        return { items, nextPageToken: writeToken(listing.filter, last) };
      }
    }
    last = candidate.place;
    candidates.skip();
  }
}

function candidatesInMemory<T>(
  { unsaved }: ListedRuns,
  listing: Listing<T>,
  after: Uint8Array | undefined,
): Candidate[] {
  const found: Candidate[] = [];
  const look = (resident: Resident): void => {
    for (const candidate of listing.inMemory(resident)) {
      if (after === undefined || listing.order(candidate.place, after) > 0) {
        found.push(candidate);
      }
    }
  };
  for (const resident of new Set(unsaved())) {
    if (resident.isDirty && resident !== listing.always) {
      look(resident);
    }
  }
  if (listing.always !== undefined) {
    look(listing.always);
  }
  return found.sort((a, b) => listing.order(a.place, b.place));
}

/** Gives the states of runs without making small ones resident. */
class RunCursor {
  readonly #source: ListedRuns;
  #number = -1;
  #run: Run | undefined;

  constructor(source: ListedRuns) {
    this.#source = source;
  }

  async read(number: number): Promise<Run | undefined> {
    const { residency, runs } = this.#source;
    for (;;) {
      const resident = residency.resident(number);
      if (resident !== undefined) {
        return resident.run;
      }
      if (number === this.#number) {
        return this.#run;
      }
      const peeked = runs.peek(number);
      if (peeked !== "paged") {
        this.#number = number;
        this.#run = peeked;
        return peeked;
      }
      const found = residency.find(number);
      if (found === undefined) {
        return undefined; // It is being removed.
      }
      await found;
    }
  }
}
