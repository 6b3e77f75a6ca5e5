import { fromBinary, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type HistoryEvent, HistoryEventSchema } from "@pawl/proto/v1/history_pb.js";
import { type Offer, OfferSchema, type TaskWait } from "@pawl/proto/v1/worker_service_pb.js";
import { PawlError } from "../errors.js";
import { AttemptState } from "../internal/attempt-state.js";
import { decodePayload } from "../internal/codec.js";
import { defer } from "../internal/deferred.js";
import { declareWaits } from "../internal/functions/declare-waits.js";
import { UndoingContext } from "../internal/functions/undoing-context.js";
import { Lease } from "../internal/lease.js";
import { MAIN_TASK } from "../internal/plan-message.js";
import { validate } from "../internal/validate.js";
import { loadEmbedModule, type ReplayedHistory, type StoredEvent } from "../open-kernel.js";
import type { ServedTask } from "../task.js";
import { ReplayDiffers, TestKitMisused } from "./errors.js";
import { ReplayPort } from "./replay-port.js";

/** Which history is replayed: what `pawl run history RUN --json --stored` prints, or its events as objects. */
export type History = string | readonly JsonValue[];

/** How a history is replayed. */
export interface ReplayOptions {
  /** Name of the task, for a workflow that another one called. Default `main`: the run's own function. */
  readonly task?: string;
}

/** How code and history fit together. */
export interface Replay {
  /** True when the code does not contradict the records, and has left none behind. */
  readonly fits: boolean;
  /** The first contradiction, with both sides; undefined: there is none. */
  readonly difference: string | undefined;
  /** What is recorded and the code, having returned, did not reach. */
  readonly unvisited: readonly string[];
  /** What the code asks for beyond the records: what it would do next. */
  readonly next: readonly string[];
  /** How the code ended over these records. */
  readonly end:
    | { readonly status: "returned"; readonly output: unknown }
    | { readonly status: "threw"; readonly error: unknown }
    | { readonly status: "goes on" };
}

/**
 * Runs the code of a workflow over what is recorded of a run, as a worker would that got it today. Nothing is done: no step runs that is not recorded, no sink is called, nothing leaves the
 * process. It needs the package `@pawl/server`.
 *
 * @throws TestKitMisused when the history is not one with stored events, from the first on, or is of another workflow.
 */
export async function replay(
  history: History,
  workflow: ServedTask,
  { task = MAIN_TASK }: ReplayOptions = {},
): Promise<Replay> {
  if (workflow.isFunction !== true) {
    throw new TestKitMisused(
      `Expected a workflow function to replay, but "${workflow.name}" is a task. Only functions run again over their records.`,
    );
  }
  const { run, offer } = await open(history, task);
  if (task === MAIN_TASK && offer.workflow !== workflow.name) {
    throw new TestKitMisused(
      `Expected the history of a run of "${workflow.name}", but it is of "${offer.workflow}". Replay it with that one's code.`,
    );
  }
  const port = new ReplayPort(run);
  const lease = new Lease(offer);
  const state = new AttemptState();
  const next: string[] = [];
  const idle = defer<void>();
  let waits: TaskWait[] = [];
  const onIdle = (asked: TaskWait[]): void => {
    waits = asked;
    idle.resolve();
  };
  const ctx = new UndoingContext(
    {
      ...{ offer, lease, state, port, ledger: port.ledger(lease) },
      load: (payload) => port.load(payload),
      onSuspend: () => undefined,
      onContinued: () => undefined,
      inputSchema: workflow.inputSchema,
      allowsUnvisited: workflow.allowsUnvisited === true,
    },
    { onIdle, onFresh: (what) => next.push(what) },
  );
  const end = await runOver({ workflow, ctx, state, input: offer.input, idle: idle.promise });
  // Where it waits it would tell so, and be refused what it waits for otherwise than is recorded.
  if (end.status === "goes on" && waits.length > 0) {
    await declareWaits({ port, lease, state }, waits);
  }
  return judge(ctx, state, { end, next, allowsUnvisited: workflow.allowsUnvisited === true });
}

/** Name of the workflow that a history is of. */
export async function workflowOf(history: History): Promise<string> {
  return (await open(history, MAIN_TASK)).offer.workflow;
}

async function open(
  history: History,
  task: string,
): Promise<{ readonly run: ReplayedHistory; readonly offer: Offer }> {
  const events = readHistory(history);
  const { ReplayedRun } = await loadEmbedModule();
  const stored = events.map(storedEvent);
  const options = { task, runNumber: runNumberOf(events) };
  const run = whole(() => new ReplayedRun(stored, options));
  return { run, offer: fromBinary(OfferSchema, run.offer()) };
}

/** What a history makes. @throws TestKitMisused when it is not all of one run. */
function whole(make: () => ReplayedHistory): ReplayedHistory {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof Error && cause.name === "CorruptHistory")) throw cause;
    throw new TestKitMisused(
      `Expected all events of one run, from the first on, of types that this version knows, but they are not: ${cause.message} Print them anew with "pawl run history RUN --json --stored", and replay them with the version that wrote them, or a later one.`,
      { cause },
    );
  }
}

/** The same, for tests. @throws ReplayDiffers when code and history do not fit. */
export async function assertReplays(
  history: History,
  workflow: ServedTask,
  options: ReplayOptions = {},
): Promise<Replay> {
  const replayed = await replay(history, workflow, options);
  if (!replayed.fits) throw new ReplayDiffers(workflow.name, replayed);
  return replayed;
}

/** What runs over a history. */
interface RunParts {
  readonly workflow: ServedTask;
  readonly ctx: UndoingContext;
  readonly state: AttemptState;
  readonly input: Parameters<typeof decodePayload>[0];
  /** Resolves when nothing is left to give and nothing runs. */
  readonly idle: Promise<void>;
}

async function runOver({ workflow, ctx, state, input, idle }: RunParts): Promise<Replay["end"]> {
  const sent = decodePayload(input, "the input");
  const checked =
    workflow.inputSchema === undefined
      ? sent
      : await validate(workflow.inputSchema, sent, "the input of the history", false);
  let end: Replay["end"] = { status: "goes on" };
  const look = (): void => state.waits?.look();
  const running = (async () => workflow.handler(ctx, checked))().then(
    (output) => {
      end = { status: "returned", output };
      look();
    },
    (error: unknown) => {
      end = { status: "threw", error };
      look();
    },
  );
  look();
  await Promise.race([idle, running]);
  await ctx.callsAnswered();
  // The code may still be on its way from the last thing that it was given.
  for (let turn = 0; turn < REST_TURNS; turn++) await new Promise((go) => setImmediate(go));
  ctx.close();
  return end;
}

/** Turns of the event loop that code is left alone for when nothing is left to give. */
const REST_TURNS = 10;

function judge(
  ctx: UndoingContext,
  state: AttemptState,
  {
    end,
    next,
    allowsUnvisited,
  }: Pick<Replay, "end" | "next"> & { readonly allowsUnvisited: boolean },
): Replay {
  const difference = state.poison?.message ?? missing(ctx);
  const unvisited = end.status === "returned" && !allowsUnvisited ? ctx.unvisited : [];
  const fits = difference === undefined && unvisited.length === 0;
  return { fits, difference, unvisited, next, end };
}

function missing(ctx: UndoingContext): string | undefined {
  try {
    ctx.assertFits();
    return undefined;
  } catch (error) {
    if (error instanceof PawlError) return error.message;
    throw error;
  }
}

function readHistory(history: History): HistoryEvent[] {
  try {
    const events = typeof history === "string" ? parseLines(history) : history;
    return events.map((event) =>
      fromJson(HistoryEventSchema, event, { ignoreUnknownFields: true }),
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TestKitMisused(
      `Expected a history as "pawl run history RUN --json --stored" prints it, but ${why}. Print it anew.`,
      { cause: error },
    );
  }
}

function parseLines(text: string): JsonValue[] {
  const trimmed = text.trim();
  if (trimmed.startsWith("[")) return JSON.parse(trimmed) as JsonValue[];
  return trimmed.split("\n").map((line) => JSON.parse(line) as JsonValue);
}

function storedEvent({ number, at, stored }: HistoryEvent): StoredEvent {
  if (stored.length === 0) {
    throw new TestKitMisused(
      `Expected event ${number} of the history as it is stored, but it is left out. Print the history with --json --stored.`,
    );
  }
  return { number, atMs: at === undefined ? 0 : timestampMs(at), stored };
}

/** Ids of proposals begin with the number of their run; without one it does not matter. */
function runNumberOf(events: readonly HistoryEvent[]): number {
  const id = events.find(({ proposalId }) => proposalId !== "")?.proposalId ?? "1-";
  return Number.parseInt(id, 10);
}
