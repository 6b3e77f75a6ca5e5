import type { EventBody } from "@pawl/server/core/event.js";
import type { Run, Signal } from "@pawl/server/core/state.js";
import { textOf } from "./contents.js";
import type { ShadowRun } from "./shadow-log.js";

/** What is to be judged of a run. */
type LoggedRun = Pick<ShadowRun, "number" | "events" | "state">;

/** Runs as the log tells of them. */
interface LoggedRuns {
  readonly runs: ReadonlyMap<number, LoggedRun>;
  find(runId: string): LoggedRun | undefined;
}

/** The answer to an update as text; empty while there is none. */
export function answerText(update: Signal | undefined): string {
  const { result, refused } = update?.answer ?? {};
  const accepted = result === undefined ? "" : `accepted ${textOf(result)}`;
  return refused === undefined ? accepted : `refused ${refused.message}`;
}

/**
 * Updates and publications by the events alone: each update is answered at most once, after a wait took it, and what was told to its sender is that answer; of
 * each name the last publication of the incarnation is served.
 */
export function checkUpdates(
  shadow: LoggedRuns,
  told: ReadonlyMap<string, string>,
  complain: (text: string) => void,
): void {
  for (const run of shadow.runs.values()) {
    if (run.state.kind === "run") checkRun(run, complain);
  }
  for (const [id, answer] of told) {
    const [runId = "", updateId = ""] = id.split(" ");
    const signals = shadow.find(runId)?.state.signals ?? [];
    const update = signals.find((each) => each.update && each.requestId === updateId);
    if (answerText(update) !== answer) {
      complain(`update ${id} was told ${answer}, but ${answerText(update)} is recorded`);
    }
  }
}

function checkRun({ number, events, state }: LoggedRun, complain: (text: string) => void): void {
  const answers = new Map<number, string>();
  const taken = new Set<number>();
  let published = new Map<string, string>();
  const hear = (body: EventBody): void => {
    if (beginsAnew(body)) published = new Map();
    if (body.case === "waitEnded" && body.value.outcome.case === "signalTaken") {
      taken.add(body.value.outcome.value.signal);
    }
    if (body.case !== "stepRecorded") return;
    const { answers: update, publishes, value, failure } = body.value;
    if (publishes !== undefined) published.set(publishes, textOf(value));
    if (update === undefined) return;
    if (answers.has(update)) complain(`run ${number} answered update ${update} twice`);
    if (!taken.has(update)) complain(`run ${number} answered update ${update}, which none took`);
    answers.set(update, wordFor(value, failure));
  };
  for (const { body } of events) hear(body);
  const stored = state.signals.flatMap((signal) =>
    signal.answer === undefined ? [] : `${signal.number} ${answerText(signal)}`,
  );
  const heard = [...answers].sort(([one], [other]) => one - other).map((each) => each.join(" "));
  if (stored.join() !== heard.join()) {
    complain(`run ${number} has the answers ${stored}, but ${heard} were recorded`);
  }
  const served = servedOf(state);
  const last = [...published].map((each) => each.join("="));
  if (served.toSorted().join() !== last.toSorted().join()) {
    complain(`run ${number} serves ${served}, but ${last} was published last`);
  }
}

/** An answer as a step records it. */
function wordFor(
  value: Uint8Array | undefined,
  failure: { readonly message: string } | undefined,
): string {
  return failure === undefined ? `accepted ${textOf(value)}` : `refused ${failure.message}`;
}

function beginsAnew(body: EventBody): boolean {
  return body.case === "runRestarted" || body.case === "runContinued";
}

function servedOf({ published, steps }: Run): string[] {
  return [...published].map(([name, { step }]) => `${name}=${textOf(steps[step]?.value)}`);
}
