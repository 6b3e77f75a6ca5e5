import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import type { WaitFor } from "@pawl/server/core/command.js";
import { planOf, planTask, type TaskParts } from "../../../core/support/plans.js";
import { payload } from "../../../core/support/values.js";
import {
  drawOperation,
  drawWait,
  type Instruction,
  type OperationSpec,
  type Workflow,
} from "../plans.js";
import type { Prng } from "../prng.js";
import type { Settings } from "../settings.js";

/** What a function does with the calls that have not ended when it has enough. */
export type Rest = "cancel" | "request" | "wait" | "abandon" | "leave";

/** Calls tasks side by side, and goes on when all have ended, or the first. */
export interface Calling {
  readonly case: "call";
  readonly called: readonly PlanTaskShape[];
  readonly join: "all" | "first";
  readonly rest: Rest;
}

/** One thing that a branch of a function does. */
export type FunctionInstruction =
  /** Records what it makes of everything that it was given so far. */
  | { readonly case: "step"; readonly name: string; readonly publishes: string | undefined }
  | { readonly case: "perform"; readonly operation: OperationSpec }
  /** Records how to undo what was done. */
  | { readonly case: "undo"; readonly operation: OperationSpec }
  | Calling
  /** Throws what no further attempt would mend. */
  | { readonly case: "throw" }
  /** Goes on with the first of these. */
  | { readonly case: "await"; readonly waits: readonly WaitFor[] };

/** The code of a function: branches that go on side by side. What each does next follows from what the function was given, and in which order. */
export interface FunctionProgram {
  readonly branches: readonly (readonly FunctionInstruction[])[];
  /** Incarnations at whose end it continues the run as new. */
  readonly continues: readonly number[];
}

/** A workflow whose only task is a function. */
export interface FunctionWorkflow extends Workflow {
  /** Functions by their kinds; `code` has what they call. */
  readonly functions: ReadonlyMap<string, FunctionProgram>;
}

interface Drawing {
  readonly name: string;
  readonly prng: Prng;
  readonly settings: Settings;
}

/** Draws one. */
export function drawFunction(drawing: Drawing): FunctionWorkflow {
  const { name, prng, settings } = drawing;
  const code = new Map<string, readonly Instruction[]>();
  for (const leaf of leaves(name)) {
    code.set(leaf, drawLeaf(drawing));
  }
  const goesOn = prng.chance(settings.load.continueShare);
  const plain = { ...drawing, mayCall: [...leaves(name), `${name}.sub`], goesOn };
  const sub = { ...plain, mayCall: leaves(name), goesOn: false };
  const functions = new Map<string, FunctionProgram>([
    [`${name}.main`, drawProgram(plain, prng.between(1, 3))],
    [`${name}.sub`, drawProgram(sub, 1)],
  ]);
  const attemptsMax = prng.pick([8, 25]);
  const main: TaskParts = {
    kind: `${name}.main`,
    leaseMs: prng.pick([1_000, 4_000, 15_000]),
    retry: { attemptsMax, workerLossesMax: 6, initialMs: 100, intervalMsMax: 2_000, jitter: 0.5 },
    cancelGraceMs: prng.pick([500, 5_000]),
    ...(prng.chance(0.1) ? { scheduleToCloseMs: prng.between(20_000, 120_000) } : {}),
  };
  return { name, plan: planOf({ main }, "main"), code, functions };
  function leaves(of: string): readonly string[] {
    return [`${of}.leaf0`, `${of}.leaf1`].slice(0, settings.load.tasksMax);
  }
}

/** A called task that takes its time now and then, so that it has to be stopped. */
function drawLeaf({ name, prng, settings }: Drawing): readonly Instruction[] {
  const operation = drawOperation(`${name}-leaf${prng.below(100)}`, prng, settings, false);
  const sleep: Instruction = { case: "sleep", ms: prng.pick([0, 300, 3_000, 12_000]) };
  const last: Instruction = prng.chance(0.4)
    ? { case: "perform", operation }
    : { case: "step", name: "s1" };
  return [{ case: "step", name: "s0" }, sleep, last];
}

interface ProgramDrawing extends Drawing {
  readonly mayCall: readonly string[];
  readonly goesOn: boolean;
}

function drawProgram(drawing: ProgramDrawing, branchCount: number): FunctionProgram {
  const { prng, goesOn } = drawing;
  const branches = Array.from({ length: branchCount }, (_none, branch) =>
    Array.from(
      { length: prng.between(1, 3) },
      (_nothing, place): FunctionInstruction => drawInstruction(drawing, `b${branch}.${place}`),
    ),
  );
  if (!goesOn && prng.chance(0.25)) {
    branches[0]?.push({ case: "throw" });
  }
  return { branches, continues: goesOn ? [1, 2] : [] };
}

function drawInstruction(drawing: ProgramDrawing, name: string): FunctionInstruction {
  const { prng, settings, goesOn } = drawing;
  const drawn = prng.fraction();
  if (drawn < 0.2) {
    return { case: "step", name, publishes: prng.chance(0.5) ? "last" : undefined };
  }
  if (drawn < 0.35) {
    return { case: "perform", operation: drawOperation(`o${name}`, prng, settings, false) };
  }
  if (drawn < 0.5 && !goesOn) {
    return { case: "undo", operation: drawOperation(`u${name}`, prng, settings, false) };
  }
  if (drawn < 0.7) {
    const waits = [drawWait(`${name}.a`, prng), drawWait(`${name}.b`, prng)];
    return { case: "await", waits: waits.slice(prng.below(2)) };
  }
  return drawCalling(drawing, name);
}

function drawCalling({ prng, mayCall, goesOn }: ProgramDrawing, name: string): Calling {
  const called = Array.from({ length: prng.between(1, 4) }, (_none, index) =>
    drawCall(`${name}.${index}`, prng.pick(mayCall), prng),
  );
  // What was let go or keeps its grace would hold up the next incarnation.
  const ways = goesOn
    ? (["cancel", "wait", "leave"] as const)
    : (["cancel", "request", "wait", "abandon", "leave"] as const);
  return { case: "call", called, join: prng.pick(["all", "first"]), rest: prng.pick(ways) };
}

function drawCall(name: string, kind: string, prng: Prng): PlanTaskShape {
  return planTask(name, {
    kind,
    input: payload({ name }),
    leaseMs: prng.pick([1_000, 4_000]),
    retry: { attemptsMax: prng.pick([1, 4]), initialMs: 50, intervalMsMax: 1_000, jitter: 0 },
    cancelGraceMs: prng.pick([500, 5_000]),
    ...(prng.chance(0.1) ? { startToCloseMs: 2_000 } : {}),
    ...(prng.chance(0.1) ? { scheduleToCloseMs: 20_000 } : {}),
  });
}
