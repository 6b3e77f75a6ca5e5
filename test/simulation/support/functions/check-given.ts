import type { EventBody } from "@pawl/server/core/event.js";
import { nameOfTask, plannedSpec } from "@pawl/server/core/plan/tasks-of-run.js";
import type { Run } from "@pawl/server/core/state.js";
import { isTaskClosed } from "@pawl/server/core/transitions.js";
import { textOf } from "../contents.js";
import { begins, statesOf } from "../incarnations.js";
import type { ShadowLog, ShadowRun } from "../shadow-log.js";
import { type Diaries, diaryKey } from "./diaries.js";
import type { Given } from "./given.js";

/** Something that ended for a task, by the log. */
interface Ended {
  readonly event: number;
  readonly name: string;
  /** Output of a called task that completed by its own report, as JSON text; undefined: it is another thing, or ended otherwise. */
  readonly output: string | undefined;
}

/**
 * What functions were given, by the log: each end of a wait and of a called task once, in the order of their events, with what came; and what they recorded is
 * what they make of all that was given up to then. So the order of what is seen is the same whoever runs a function, warm or cold, and nothing that was seen slips back.
 */
export function checkGiven(
  shadow: ShadowLog,
  { all }: Diaries,
  complain: (text: string) => void,
): void {
  const diaries = new Map(all);
  for (const run of shadow.runs.values()) {
    for (const life of livesOf(run)) {
      for (const { number } of life.state.tasks) {
        const ended = endedFor(life, number);
        const { runId, incarnation } = life.state;
        const key = diaryKey({ runId, incarnation, taskName: nameOfTask(life.state, number) });
        compare(key, diaries.get(key) ?? [], { ended, complain });
        diaries.delete(key);
        checkSteps(life, number, { ended, complain });
      }
    }
  }
  for (const key of diaries.keys()) {
    complain(`function ${key} was given something, but it is not in the log`);
  }
}

/** An incarnation of a run: its events, and how it was at its end. */
interface Life {
  readonly state: Run;
  readonly events: readonly { readonly body: EventBody; readonly number: number }[];
}

function livesOf(run: ShadowRun): Life[] {
  const lives: { state: Run; events: Life["events"][number][] }[] = [];
  const states = statesOf(run);
  for (const { body, number } of run.events) {
    const state = states[begins(body) ? lives.length : Math.max(0, lives.length - 1)];
    if (state !== undefined && (lives.length === 0 || begins(body))) {
      lives.push({ state, events: [] });
    }
    lives.at(-1)?.events.push({ body, number });
  }
  return lives;
}

function endedFor({ state, events }: Life, task: number): Ended[] {
  const outputs = new Map<number, string>();
  const ended: Ended[] = [];
  for (const { body, number } of events) {
    if (body.case === "taskCompleted") {
      outputs.set(body.value.task, textOf(body.value.output));
    } else if (body.case === "waitEnded" && body.value.task === task) {
      const name = state.waits[body.value.wait]?.declaration.name ?? "";
      ended.push({ event: number, name, output: undefined });
    }
  }
  for (const called of state.tasks) {
    if (called.caller === task && isTaskClosed(called.status)) {
      const name = nameOfTask(state, called.number);
      ended.push({ event: called.closedEvent, name, output: outputs.get(called.number) });
    }
  }
  // What ends with one event lies in the order of the calls.
  return ended.sort((one, other) => one.event - other.event);
}

function compare(
  key: string,
  diary: readonly Given[],
  { ended, complain }: { ended: readonly Ended[]; complain: (text: string) => void },
): void {
  for (const [index, given] of diary.entries()) {
    const expected = ended[index];
    const isSame = given.event === expected?.event && given.name === expected.name;
    const isWhole =
      expected?.output === undefined || given.text.includes(JSON.stringify(expected.output));
    if (!isSame || !isWhole) {
      complain(
        `function ${key} was given ${given.name} of event ${given.event} (${given.text.slice(0, 200)}) as number ${index}, but ${expected?.name} of event ${expected?.event} ${expected?.output?.slice(0, 200)} came then`,
      );
      return;
    }
  }
}

/** What a function made of everything that it was given. */
function checkSteps(
  { state, events }: Life,
  task: number,
  { ended, complain }: { ended: readonly Ended[]; complain: (text: string) => void },
): void {
  const { kind = "" } = plannedSpec(state, task) ?? {};
  if (!/^f\d+\.(main|sub)$/.test(kind)) {
    return;
  }
  let seen = 0;
  for (const { body, number } of events) {
    if (body.case !== "stepRecorded" || body.value.task !== task) {
      continue;
    }
    const { seenThrough, value, answers } = body.value;
    if (seenThrough < seen || seenThrough >= number) {
      complain(`event ${number} of ${state.runId} was seen through ${seenThrough} after ${seen}`);
    }
    seen = seenThrough;
    const thoughts = ended
      .filter(({ event }) => event <= seenThrough)
      .map(({ name }) => name)
      .join(" ");
    const text = answers === undefined ? `${JSON.parse(textOf(value))}`.replace(/x+$/, "") : "";
    // Of several ends of one event only the first may have been given by then.
    if (answers === undefined && !thoughts.startsWith(text)) {
      complain(
        `event ${number} of ${state.runId} records "${text}", but through ${seenThrough} there came "${thoughts}"`,
      );
    }
  }
}
