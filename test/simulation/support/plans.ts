import { ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import type { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OnExhausted, OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import type { WaitFor } from "@pawl/server/core/command.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import { planOf, type TaskParts } from "../../core/support/plans.js";
import { fingerprint } from "../../core/support/values.js";
import type { Prng } from "./prng.js";
import type { Settings } from "./settings.js";

/** An operation that a task performs. */
export interface OperationSpec {
  readonly name: string;
  readonly kind: SinkKind;
  readonly isOfRun: boolean;
  readonly callTimeoutMs: number;
  readonly settleMs: number;
  readonly keyWindowMs: number;
}

/** One thing that a task's code does. */
export type Instruction =
  | { readonly case: "step"; readonly name: string }
  | { readonly case: "perform"; readonly operation: OperationSpec }
  | { readonly case: "sleep"; readonly ms: number }
  /** Fails the attempts of these incarnations. */
  | { readonly case: "fail"; readonly incarnations: readonly number[] }
  /** Continues the run as new, in these incarnations. */
  | { readonly case: "continue"; readonly incarnations: readonly number[] }
  /** Waits for several things at once, without its lease, until the first of them. */
  | Telling
  | { readonly case: "wait"; readonly name: string; readonly waits: readonly WaitFor[] };

/**
 * Tells another run something, which may be this one, or none; or starts a child. Now and then it waits for the answer, or for the child's end,
 * without its lease.
 */
export interface Telling {
  readonly case: "tell";
  readonly name: string;
  readonly runId: string;
  readonly what: "signal" | "cancel" | "child";
  readonly parentClose: ParentClose;
  readonly awaits: boolean;
}

/** What children run. */
export const childWorkflow: Workflow = {
  name: "child",
  plan: planOf(
    {
      only: {
        ...{ kind: "child.only", leaseMs: 4_000 },
        retry: { attemptsMax: 100, workerLossesMax: 100, initialMs: 10, intervalMsMax: 1_000 },
      },
    },
    "only",
  ),
  code: new Map<string, readonly Instruction[]>([
    [
      "child.only",
      [
        { case: "step", name: "s0" },
        { case: "sleep", ms: 500 },
      ],
    ],
  ]),
};

/** A workflow: its plan, and the code of its tasks by kind. */
export interface Workflow {
  readonly name: string;
  readonly plan: CompiledPlan;
  readonly code: ReadonlyMap<string, readonly Instruction[]>;
}

/** What a workflow is drawn with beside its own numbers. */
interface Drawing {
  readonly settings: Settings;
  readonly waits: Prng;
  readonly tells: Prng;
  readonly joins: Prng;
}

/** Draws a workflow. Kinds carry its name, so that each has code of its own. */
export function drawWorkflow(
  name: string,
  prng: Prng,
  { settings, waits, tells, joins }: Drawing,
): Workflow {
  const code = new Map<string, readonly Instruction[]>();
  const tasks: Record<string, TaskParts> = {};
  const count = prng.between(1, settings.load.tasksMax);
  const shared = drawOperation("shared", prng, settings, true);
  for (let number = 0; number < count; number++) {
    const task = `t${number}`;
    const kind = `${name}.${task}`;
    const waiting = withWaits(drawCode(prng, settings, shared), waits, settings);
    const told = withTellings(waiting, tells, settings);
    const goesOn = count === 1 && isContinued(name, settings);
    code.set(kind, goesOn ? [...told, { case: "continue", incarnations: [1, 2] }] : told);
    const before = Object.keys(tasks);
    const needs = before.filter(() => prng.chance(0.4));
    const leaseMs = prng.pick([1_000, 4_000, 15_000]);
    const attemptsMax = prng.pick([3, 8, 25]);
    tasks[task] = {
      kind,
      needs,
      leaseMs,
      retry: {
        attemptsMax,
        // A person is asked about some, when their attempts are used up or their workers are lost again and again.
        onExhausted: attemptsMax === 3 ? OnExhausted.ASK : OnExhausted.FAIL,
        workerLossesMax: attemptsMax === 8 ? 2 : 5,
        initialMs: prng.pick([0, 100, 2_000]),
        intervalMsMax: 5_000,
        jitter: 0.5,
      },
      cancelGraceMs: prng.pick([500, 5_000]),
      ...drawTimeouts(prng),
      ...drawJoin(needs, joins, settings),
    };
  }
  return { name, plan: planOf(tasks, `t${count - 1}`), code };
}

/** By its name, so that nothing else is drawn otherwise. */
function isContinued(name: string, { load }: Settings): boolean {
  const drawn = (fingerprintNumber(name) % 100) / 100;
  return drawn < load.continueShare;
}

function fingerprintNumber(name: string): number {
  return [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_973, 7);
}

function drawJoin(
  needs: readonly string[],
  prng: Prng,
  { load }: Settings,
): Pick<TaskParts, "join"> {
  if (needs.length === 0 || !prng.chance(load.joinShare)) {
    return {};
  }
  const rules = needs.map((need): [string, OnNeedFailure] => [
    need,
    prng.pick([OnNeedFailure.SKIP, OnNeedFailure.FAIL, OnNeedFailure.CONTINUE]),
  ]);
  return { join: { atLeast: prng.between(0, needs.length), rules: Object.fromEntries(rules) } };
}

function drawTimeouts(prng: Prng): TaskParts {
  return {
    ...(prng.chance(0.1) ? { scheduleToStartMs: prng.between(5_000, 60_000) } : {}),
    ...(prng.chance(0.15) ? { startToCloseMs: prng.between(2_000, 30_000) } : {}),
    ...(prng.chance(0.1) ? { scheduleToCloseMs: prng.between(20_000, 120_000) } : {}),
  };
}

function drawCode(prng: Prng, settings: Settings, shared: OperationSpec): Instruction[] {
  const code: Instruction[] = [];
  const count = prng.between(1, 4);
  for (let number = 0; number < count; number++) {
    const drawn = prng.fraction();
    if (drawn < 0.35) {
      code.push({ case: "step", name: `s${number}` });
    } else if (drawn < 0.8) {
      code.push({
        case: "perform",
        operation: drawOperation(`o${number}`, prng, settings, false),
      });
    } else if (drawn < 0.9) {
      code.push({ case: "perform", operation: shared });
    } else {
      code.push({ case: "sleep", ms: prng.around(3_000) });
    }
  }
  return code;
}

/** Puts waits between what a task does. They are drawn apart, so that a room without them is as it was. */
function withWaits(code: readonly Instruction[], prng: Prng, { load }: Settings): Instruction[] {
  return code.flatMap((instruction, number) => {
    if (!prng.chance(load.waitShare)) {
      return [instruction];
    }
    const name = `w${number}`;
    const waits = [drawWait(`${name}.a`, prng), drawWait(`${name}.b`, prng)];
    const wait: Instruction = { case: "wait", name, waits: waits.slice(prng.below(2)) };
    return prng.chance(0.5) ? [wait, instruction] : [instruction, wait];
  });
}

/** Puts what is told other runs between what a task does. */
function withTellings(
  code: readonly Instruction[],
  prng: Prng,
  { load }: Settings,
): readonly Instruction[] {
  return load.tellShare === 0
    ? code
    : code.flatMap((instruction, number) =>
        prng.chance(load.tellShare)
          ? [drawTelling(`tell${number}`, prng, load.runs), instruction]
          : [instruction],
      );
}

function drawTelling(name: string, prng: Prng, runs: number): Telling {
  return {
    ...{ case: "tell", name, runId: `run-${prng.below(runs + 1)}` },
    what: prng.pick(["signal", "signal", "signal", "child", "child", "cancel"] as const),
    parentClose: prng.pick([ParentClose.CANCEL, ParentClose.TERMINATE, ParentClose.DETACH]),
    awaits: prng.chance(0.5),
  };
}

/** Everything ends by itself within a minute, so that a room comes to rest whoever is there. */
export function drawWait(name: string, prng: Prng): WaitFor {
  const ms = prng.pick([0, 500, 5_000, 60_000]);
  const kind = prng.pick(["timer", "signal", "input", "update"] as const);
  switch (kind) {
    case "timer":
      return { name, key: undefined, subject: { case: "timer", due: { afterMs: ms } } };
    case "signal": {
      const signal = `signal${prng.below(2)}`;
      return { name, key: undefined, subject: { case: "signal", signal, timeoutMs: ms } };
    }
    case "update": {
      const update = `update${prng.below(2)}`;
      return { name, key: undefined, subject: { case: "update", update, timeoutMs: ms } };
    }
    case "input": {
      const asked = { question: name, addressee: "ann", schema: "", fingerprint: fingerprint(7) };
      return { name, key: undefined, subject: { case: "input", ...asked, expiresInMs: ms } };
    }
  }
}

/** Draws an operation. */
export function drawOperation(
  name: string,
  prng: Prng,
  settings: Settings,
  isOfRun: boolean,
): OperationSpec {
  return {
    name,
    isOfRun,
    kind: prng.pick(settings.load.sinkKinds),
    callTimeoutMs: prng.pick([300, 2_000, 8_000]),
    settleMs: prng.pick([200, 1_000, 3_000]),
    // A kernel whose wall clock jumps measures windows by a clock that the sink does not share.
    keyWindowMs: settings.kernel.wallJumps ? 86_400_000 : prng.pick([10_000, 60_000, 86_400_000]),
  };
}
