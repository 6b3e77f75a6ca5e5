import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Run } from "../../core/state.js";
import { readU32, readU64, writeU32, writeU64 } from "../../log/bytes.js";
import { operationKeyKey, visibilityKey } from "../../log/key.js";
import { sha256 } from "../../log/sha256.js";
import type { Store } from "../../log/store.js";
import type {
  InputFilter,
  OperationFilter,
  Page,
  PageRequest,
  ProposalFilter,
  RunFilter,
} from "../kernel-api.js";
import type { Residency } from "../residency.js";
import type { Resident } from "../resident.js";
import { addresseeOf, listField, openReviewValue, proposalFromValue } from "./index-entries.js";
import { readTargetRow } from "./index-rows.js";
import { type Listing, readPage } from "./list-page.js";
import {
  ascending,
  type CandidateStream,
  descending,
  IndexStream,
  IntersectionStream,
  MovingStream,
  type PlaceOrder,
} from "./list-stream.js";
import { storedOfPresent } from "./restarted-rows.js";
import type { StoredRuns } from "./run-reader.js";

/** What lists are made from. */
export interface ListsParts {
  readonly store: Store;
  readonly partition: number;
  readonly residency: Residency;
  readonly runs: StoredRuns;
  /** Every run in memory that has something newer than its rows; one may come twice. */
  readonly unsaved: () => Iterable<Resident>;
  /** Resolves when every run of the log's tail is in memory: the promise of `StartUp.begin`. */
  readonly ready: Promise<void>;
  /** Index rows read at once. Default 200. */
  readonly pageRows?: number;
}

/** States of a run that has ended. */
const endedStatuses: readonly number[] = [
  RunStatus.COMPLETED,
  RunStatus.FAILED,
  RunStatus.CANCELLED,
  RunStatus.TERMINATED,
];

/** States of an operation that is not settled: those are listed by rows of their own. */
const unsettledStatuses: ReadonlySet<number> = new Set([
  OperationStatus.INTENDED,
  OperationStatus.IN_DOUBT,
  OperationStatus.NEEDS_REVIEW,
]);

const pageRowsDefault = 200;

/** Place in lists ordered by run number and number of the part. */
const numberPlaceBytes = 12;

/**
 * Lists across runs: index rows of runs that have nothing newer in memory, merged with those in memory that have. No row comes twice, and
 * none is missed that existed throughout. Answers are computed from the pending state; the caller holds them back until it is durable.
 */
export class Lists {
  readonly #parts: ListsParts;

  constructor(parts: ListsParts) {
    this.#parts = parts;
  }

  /**
   * Runs, newest first.
   * @throws RejectionError PAWL_INVALID_PAGE_TOKEN
   */
  listRuns<T>(
    filter: RunFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number) => T,
  ): Promise<Page<T>> {
    const { namespace, status, workflow } = filter;
    const isMatch = (run: Run): boolean =>
      run.kind === "run" &&
      run.namespace === namespace &&
      (status === 0 || run.status === status) &&
      (workflow === "" || run.workflow === workflow);
    return this.#list(page, {
      filter: ["runs", namespace, `${status}`, workflow],
      placeBytes: numberPlaceBytes,
      order: descending,
      stream: (after) => this.#runStream(filter, after),
      inMemory: ({ run, number }) => (isMatch(run) ? [candidateOf(number, 0)] : []),
      isMatch,
      project: (run, runNumber) => project(run, runNumber),
    });
  }

  /**
   * Operations. Unsettled ones by their runs' age, the oldest first; all, and settled ones, in the order of their keys' hashes, since only
   * the ledger itself holds them; those of one run by number.
   * @throws RejectionError PAWL_INVALID_PAGE_TOKEN
   */
  async listOperations<T>(
    filter: OperationFilter,
    page: PageRequest<T>,
    project: (run: Run, operation: number, runNumber: number) => T,
  ): Promise<Page<T>> {
    const { namespace, runId, status } = filter;
    const isMatch = (run: Run, number: number): boolean => {
      const operation = run.operations[number];
      const isWanted = operation !== undefined && (status === 0 || operation.status === status);
      return isWanted && run.namespace === namespace && (runId === "" || run.runId === runId);
    };
    const listing = {
      filter: ["operations", namespace, runId, `${status}`],
      isMatch,
      project: (run: Run, runNumber: number, number: number) => project(run, number, runNumber),
    };
    if (runId !== "") {
      const resident = await this.#findRun(namespace, runId);
      return this.#list(page, {
        ...listing,
        ...{ placeBytes: numberPlaceBytes, order: ascending, stream: () => undefined },
        inMemory: (other) =>
          other === resident ? numbersOf(other.run.operations, other.number) : [],
        always: resident,
      });
    }
    if (unsettledStatuses.has(status)) {
      const listed = { namespace, field: listField.operationStatus, value: `${status}` };
      return this.#list(page, {
        ...listing,
        ...{ placeBytes: numberPlaceBytes, order: ascending },
        stream: (after) => this.#fieldStream(listed, ascending, after),
        inMemory: ({ run, number }) =>
          run.namespace === namespace
            ? numbersOf(
                [...run.unsettled].map((at) => ({ number: at })),
                number,
              )
            : [],
      });
    }
    return this.#list(page, {
      ...listing,
      ...{ placeBytes: 32, order: ascending },
      stream: (after) => this.#ledgerStream(namespace, after),
      inMemory: (resident) => (resident.run.namespace === namespace ? newKeysOf(resident) : []),
    });
  }

  /**
   * Open reviews, oldest first by their runs' age.
   * @throws RejectionError PAWL_INVALID_PAGE_TOKEN
   */
  listReviews<T>(
    namespace: string,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, review: number) => T,
  ): Promise<Page<T>> {
    const listed = { namespace, field: listField.review, value: openReviewValue };
    return this.#list(page, {
      filter: ["reviews", namespace],
      ...{ placeBytes: numberPlaceBytes, order: ascending, project },
      stream: (after) => this.#fieldStream(listed, ascending, after),
      inMemory: ({ run, number }) =>
        run.namespace === namespace ? numbersOf(run.reviews, number) : [],
      isMatch: (run, number) =>
        run.namespace === namespace && run.reviews[number]?.resolvedAtMs === 0,
    });
  }

  /**
   * Proposals by state, and perhaps by who may decide, oldest first by their runs' age; those of one run by number.
   * @throws RejectionError PAWL_INVALID_PAGE_TOKEN
   */
  async listProposals<T>(
    filter: ProposalFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, proposal: number) => T,
  ): Promise<Page<T>> {
    const { namespace, runId, status, addressee } = filter;
    const resident = runId === "" ? undefined : await this.#findRun(namespace, runId);
    const isWanted = (run: Run, number: number): boolean => {
      const proposal = run.proposals[number];
      const isOfState = proposal !== undefined && (status === 0 || proposal.status === status);
      return isOfState && (addressee === "" || proposal.declaration.from.includes(addressee));
    };
    const listed =
      addressee === ""
        ? { namespace, field: listField.proposal, value: `${status}` }
        : { namespace, field: listField.proposalFrom, value: proposalFromValue(status, addressee) };
    return this.#list(page, {
      filter: ["proposals", namespace, runId, `${status}`, addressee],
      ...{ placeBytes: numberPlaceBytes, order: ascending, project, always: resident },
      stream: (after) => (runId === "" ? this.#fieldStream(listed, ascending, after) : undefined),
      inMemory: (other) =>
        (runId === "" ? other.run.namespace === namespace : other === resident)
          ? numbersOf(other.run.proposals, other.number)
          : [],
      isMatch: (run, number) =>
        run.namespace === namespace &&
        (runId === "" || run.runId === runId) &&
        isWanted(run, number),
    });
  }

  /**
   * Open input requests, oldest first by their runs' age.
   * @throws RejectionError PAWL_INVALID_PAGE_TOKEN
   */
  listInputs<T>(
    { namespace, addressee }: InputFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, input: number) => T,
  ): Promise<Page<T>> {
    const listed =
      addressee === undefined
        ? { namespace, field: listField.input, value: openReviewValue }
        : { namespace, field: listField.inputAddressee, value: addressee };
    return this.#list(page, {
      filter: ["inputs", namespace, ...(addressee === undefined ? [] : [addressee])],
      ...{ placeBytes: numberPlaceBytes, order: ascending, project },
      stream: (after) => this.#fieldStream(listed, ascending, after),
      inMemory: ({ run, number }) =>
        run.namespace === namespace ? numbersOf(run.inputs, number) : [],
      isMatch: (run, number) => {
        const input = run.inputs[number];
        const isOpen = run.namespace === namespace && input?.status === InputStatus.OPEN;
        return isOpen && (addressee === undefined || addresseeOf(run, input) === addressee);
      },
    });
  }

  /** Number of the aggregate that holds an operation key: in memory, in the tail or in rows. */
  findOperation(namespace: string, operationKey: string): number | undefined {
    for (const { run, number } of this.#parts.unsaved()) {
      const isThere =
        run.deletion === undefined &&
        run.namespace === namespace &&
        (run.operationsByKey.has(operationKey) || run.proposalsByKey.has(operationKey));
      if (isThere) {
        return number;
      }
    }
    return this.#parts.runs.findOperation(namespace, operationKey);
  }

  async #list<T>(page: PageRequest<T>, listing: Listing<T>): Promise<Page<T>> {
    await this.#parts.ready;
    return await readPage(this.#parts, page, listing);
  }

  #runStream(
    { namespace, status, workflow }: RunFilter,
    after: Uint8Array | undefined,
  ): CandidateStream {
    const stream = (field: string, value: string): IndexStream =>
      this.#fieldStream({ namespace, field, value }, descending, after);
    const ofStatus = (value: number): IndexStream => stream(listField.status, `${value}`);
    if (workflow !== "") {
      const ofWorkflow = stream(listField.workflow, workflow);
      return status === 0
        ? ofWorkflow
        : new IntersectionStream(ofWorkflow, ofStatus(status), descending);
    }
    return status === 0
      ? new MovingStream(ofStatus(RunStatus.RUNNING), endedStatuses.map(ofStatus), descending)
      : ofStatus(status);
  }

  #fieldStream(
    listed: { readonly namespace: string; readonly field: string; readonly value: string },
    order: PlaceOrder,
    after: Uint8Array | undefined,
  ): IndexStream {
    const { store, partition, pageRows = pageRowsDefault } = this.#parts;
    const prefix = visibilityKey.prefix({ partition, ...listed });
    return new IndexStream({
      ...{ store, prefix, order, after, pageRows },
      read: ({ key }) => {
        const place = key.subarray(prefix.length);
        return { place, runNumber: readU64(place, 0), number: readU32(place, 8) };
      },
    });
  }

  /** All operations of a namespace, by the hash of their key. */
  #ledgerStream(namespace: string, after: Uint8Array | undefined): IndexStream {
    const { store, partition, pageRows = pageRowsDefault } = this.#parts;
    const prefix = operationKeyKey.prefix({ partition, namespace });
    return new IndexStream({
      ...{ store, prefix, order: ascending, after, pageRows },
      read: ({ key, value }) => ({
        place: key.subarray(prefix.length),
        ...readTargetRow(key, value),
      }),
    });
  }

  async #findRun(namespace: string, runId: string): Promise<Resident | undefined> {
    for (;;) {
      const found = this.#parts.residency.findRun(namespace, runId);
      if (!(found instanceof Promise)) {
        return found?.run.deletion === undefined ? found : undefined;
      }
      await found;
    }
  }
}

function candidateOf(runNumber: number, number: number): ReturnType<typeof numbersOf>[number] {
  const place = new Uint8Array(numberPlaceBytes);
  writeU64(place, 0, runNumber);
  writeU32(place, 8, number);
  return { place, runNumber, number };
}

function numbersOf(
  parts: Iterable<{ readonly number: number }>,
  runNumber: number,
): { readonly place: Uint8Array; readonly runNumber: number; readonly number: number }[] {
  return Array.from(parts, ({ number }) => candidateOf(runNumber, number));
}

/** Operations of a run whose keys are in no row yet. */
function newKeysOf(resident: Resident): ReturnType<typeof numbersOf> {
  const { run, number: runNumber } = resident;
  const { operationKeys } = storedOfPresent(resident);
  return run.operations.slice(operationKeys.length).map(({ number, declaration }) => ({
    place: sha256(Buffer.from(declaration.key, "utf8")),
    runNumber,
    number,
  }));
}
