import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { KernelStartedShape } from "@pawl/proto/log/v1/event_wire.js";
import type {
  GetStartReportRequest,
  GetStartReportResponseSchema,
  KernelStartSchema,
  ListStartsResponseSchema,
  RecoveryClass,
  RecoveryTotalSchema,
  StartLineSchema,
} from "@pawl/proto/v1/recovery_pb.js";
import type { RejectionReason } from "../../core/rejection.js";
import {
  type RecoveryReport,
  RecoveryStory,
  type RecoveryTotalLine,
} from "../../core/view/recovery-story.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import { unpackNumbers } from "../../kernel/starts.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { badField } from "../refusals.js";
import { readNamespace, readPageSize } from "../validate/fields.js";
import { recoveryLineView } from "../views/recovery-view.js";
import { standpointOf } from "./requests.js";

/** Most lines of a page: it ends with the run that brings it there. */
const pageLinesMax = 2000;

/** Lists the last starts of kernels, the newest first. */
export async function listStarts(
  edge: Edge,
): Promise<MessageInitShape<typeof ListStartsResponseSchema>> {
  return { starts: [...(await edge.kernel.starts())].reverse().map(startView) };
}

/** Says what became of what was open at a start, for a page of runs. */
export async function getStartReport(
  edge: Edge,
  request: GetStartReportRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof GetStartReportResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const size = readPageSize(request.pageSize);
  const start = findStart(await edge.kernel.starts(), request.number);
  const filter = ["start report", namespace, `${start.number}`];
  const first = readPageToken(filter, request.pageToken);
  const runs = unpackNumbers(start.runs);
  const page = new StartPage();
  let next = first;
  while (next < runs.length && next < first + size && page.lines.length < pageLinesMax) {
    call.signal.throwIfAborted();
    const target = { kind: "number", number: runs[next] ?? 0, namespace } as const;
    await addRun(edge, page, target, start.afterSequence);
    next++;
  }
  return {
    ...page.view(),
    start: startView(start),
    unlistedRuns: BigInt(start.openRuns - runs.length),
    nextPageToken: next < runs.length ? writePageToken(filter, next) : "",
  };
}

function findStart(starts: readonly KernelStartedShape[], number: number): KernelStartedShape {
  const found = number === 0 ? starts.at(-1) : starts.find((start) => start.number === number);
  if (found === undefined) {
    const known =
      starts.length === 0
        ? "0, once a kernel has opened a store that is not empty"
        : `0, or one of the last starts: ${starts[0]?.number} to ${starts.at(-1)?.number}`;
    throw badField("number", known, `${number}`);
  }
  return found;
}

const notThere: ReadonlySet<RejectionReason> = new Set(["PAWL_RUN_NOT_FOUND", "PAWL_RUN_DELETED"]);

/** Adds what a run tells; nothing for one of another namespace, or one that was deleted since. */
async function addRun(edge: Edge, page: StartPage, target: Target, since: number): Promise<void> {
  const story = new RecoveryStory({ incarnation: 0, since });
  let runNumber = 0;
  try {
    for await (const events of edge.kernel.history(target, 1)) {
      for (const { event } of events) {
        story.add(event.body, event, event.sequence);
      }
      runNumber = events[0]?.runNumber ?? runNumber;
    }
  } catch (error) {
    if (error instanceof RejectionError && notThere.has(error.rejection.reason)) {
      return;
    }
    throw error;
  }
  const report = story.finish({ ...standpointOf(edge), runNumber });
  if (report === undefined) {
    return;
  }
  const proofs = await edge.kernel.eventProofs(
    target,
    report.lines.map(({ proofEvent }) => proofEvent),
  );
  page.add(
    report,
    report.lines.map((line) => recoveryLineView(line, proofs.get(line.proofEvent))),
  );
}

type LineView = NonNullable<MessageInitShape<typeof StartLineSchema>["line"]>;
/** What a page has gathered of its answer. */
interface Gathered {
  readonly lines: MessageInitShape<typeof StartLineSchema>[];
  readonly runs: number;
  readonly totals: TotalView[];
  readonly openTotals: TotalView[];
  readonly leasesCarriedOn: number;
  readonly leasesEnded: number;
}

type TotalView = MessageInitShape<typeof RecoveryTotalSchema>;

/** A page that is being gathered. */
class StartPage {
  readonly lines: MessageInitShape<typeof StartLineSchema>[] = [];
  readonly #totals = new Map<RecoveryClass, RecoveryTotalLine>();
  readonly #openTotals = new Map<RecoveryClass, RecoveryTotalLine>();
  #runs = 0;
  #carriedOn = 0;
  #ended = 0;

  add({ run, totals, openTotals, leases }: RecoveryReport, lines: readonly LineView[]): void {
    this.#runs++;
    this.#carriedOn += leases.carriedOn;
    this.#ended += leases.ended;
    addTotals(this.#totals, totals);
    addTotals(this.#openTotals, openTotals);
    for (const line of lines) {
      this.lines.push({ runId: run.runId, line });
    }
  }

  view(): Gathered {
    return {
      lines: this.lines,
      runs: this.#runs,
      totals: listTotals(this.#totals),
      openTotals: listTotals(this.#openTotals),
      leasesCarriedOn: this.#carriedOn,
      leasesEnded: this.#ended,
    };
  }
}

function addTotals(
  sums: Map<RecoveryClass, RecoveryTotalLine>,
  totals: readonly RecoveryTotalLine[],
): void {
  for (const total of totals) {
    const { tasks = 0, operations = 0 } = sums.get(total.class) ?? {};
    sums.set(total.class, {
      class: total.class,
      tasks: tasks + total.tasks,
      operations: operations + total.operations,
    });
  }
}

function listTotals(sums: ReadonlyMap<RecoveryClass, RecoveryTotalLine>): TotalView[] {
  return [...sums.values()].sort((one, other) => one.class - other.class);
}

function startView(start: KernelStartedShape): MessageInitShape<typeof KernelStartSchema> {
  const { number, kernelVersion, format, epoch, afterHash, wasClosed, leases, deadlines } = start;
  return {
    ...{ number, kernelVersion, format, afterHash, wasClosed, leases, deadlines },
    openedAt: timestampFromMs(start.openedAtMs),
    storeEpoch: epoch,
    afterSequence: BigInt(start.afterSequence),
    openRuns: BigInt(start.openRuns),
    tailEvents: start.tailEvents,
    tailBytes: BigInt(start.tailBytes),
  };
}
