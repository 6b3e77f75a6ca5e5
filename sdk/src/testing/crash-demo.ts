import type { Run } from "../run.js";
import type { ServedTask } from "../task.js";
import {
  type CrashKill,
  type CrashSubject,
  describePoint,
  type ExactPoint,
} from "./crash-point.js";
import type { TestEnvironment } from "./environment.js";
import { messageOf, TestKitMisused, TestStuck } from "./errors.js";
import { type CrashWindow, tryEveryCrash } from "./every-crash-window.js";
import type { BodyEnd } from "./run-ends.js";

/** How a workflow of a file is tried. */
export interface CrashDemoEntry {
  /** What it is started with. Default: nothing. */
  readonly input?: unknown;
  /** What people and other systems do while it waits: signals, decisions, answers. */
  readonly meanwhile?: (env: TestEnvironment, run: Run) => Promise<unknown>;
}

/** What a file says about its workflows: exported as `crashDemo`, by the names under which they are exported. */
export type CrashDemo = Readonly<Record<string, CrashDemoEntry>>;

/** One execution with a crash, as people read it. */
export interface CrashDemoLine {
  readonly workflow: string;
  /** Where it crashed. */
  readonly point: string;
  readonly kill: CrashKill;
  /** What the crash interrupted. */
  readonly interrupted: string;
  /** How the run ended. */
  readonly ended: string;
  /** Effects of all operations and test sinks. */
  readonly effects: number;
  /** True when no effect happened twice, and none is missing that happens undisturbed, unless a person is asked about it. */
  readonly once: boolean;
  /** True when it ended as undisturbed, or asks a person what nobody else can know. */
  readonly survived: boolean;
  /** What is wrong. Empty when it survived. */
  readonly problem: string;
}

/** How the trial goes. */
export interface CrashDemoOptions {
  /** What dies at each point. Default: `worker`, `kernel` and `both`, one after the other. */
  readonly kill?: readonly CrashKill[];
  /** Told of each line as soon as it is known. */
  readonly onLine?: (line: CrashDemoLine) => void;
}

/**
 * Runs every workflow of a module once undisturbed, and once for each crash point of its own calls; see `pawl demo crash`.
 *
 * @param exported What the module exports: workflows, the tasks that they call, and `crashDemo`.
 * @throws TestKitMisused when it exports no workflow; what an undisturbed execution throws.
 */
export async function crashDemo(
  exported: Readonly<Record<string, unknown>>,
  { kill, onLine = () => undefined }: CrashDemoOptions = {},
): Promise<readonly CrashDemoLine[]> {
  const served = Object.entries(exported).flatMap(([name, value]) =>
    isServed(value) ? [{ name, value }] : [],
  );
  const workflows = served.filter(({ value }) => value.isFunction === true);
  if (workflows.length === 0) {
    throw new TestKitMisused(
      "Expected the file to export a workflow, workflow(name, …).run(code), but it exports none.",
    );
  }
  const entries = entriesOf(exported["crashDemo"], workflows);
  const lines: CrashDemoLine[] = [];
  for (const { name, value } of workflows) {
    // Tried by its caller, when it takes something that nobody says.
    const { input, meanwhile } = entries[name] ?? {};
    const { windows, undisturbed } = await tryEveryCrash(
      async (env) => {
        await env.worker({ serve: served.map((each) => each.value) });
        const run = await env.kernel.start(value, input);
        await env.settle();
        await meanwhile?.(env, run);
        return await endOf(env, run);
      },
      kill === undefined ? {} : { kill },
    );
    const { returned } = undisturbed;
    if (isEnd(returned) && returned.open !== "") {
      throw new TestKitMisused(
        `Expected workflow "${value.name}" to end undisturbed, but it waits: ${returned.open} Say in crashDemo.${name}.meanwhile what happens then.`,
      );
    }
    for (const window of windows) {
      const line = lineOf(value.name, window, effectsOf(undisturbed));
      onLine(line);
      lines.push(line);
    }
  }
  return lines;
}

function isServed(value: unknown): value is ServedTask {
  return typeof value === "object" && value !== null && "name" in value && "handler" in value;
}

function entriesOf(
  exported: unknown,
  workflows: readonly { readonly name: string }[],
): Partial<CrashDemo> {
  if (exported === undefined) return {};
  if (typeof exported !== "object" || exported === null) {
    throw new TestKitMisused(
      "Expected crashDemo to be an object, with an entry for each workflow that is exported, but it is none.",
    );
  }
  const unknown = Object.keys(exported).find((key) => !workflows.some(({ name }) => name === key));
  if (unknown !== undefined) {
    throw new TestKitMisused(
      `Expected each entry of crashDemo to be named as a workflow is exported, but "${unknown}" is not one of: ${workflows.map(({ name }) => name).join(", ")}.`,
    );
  }
  return exported as Partial<CrashDemo>;
}

/** How a run ended; empty where it did not. */
interface DemoEnd {
  readonly ended: string;
  /** Why it has not ended. */
  readonly open: string;
  /** What people are asked about effects whose outcome nobody knows. */
  readonly reviews: number;
}

function isEnd(returned: unknown): returned is DemoEnd {
  return typeof returned === "object" && returned !== null && "reviews" in returned;
}

async function endOf(env: TestEnvironment, run: Run): Promise<DemoEnd> {
  const ended = await run.result().then(
    (value) => `completed with ${JSON.stringify(value) ?? "nothing"}`,
    (error: unknown) => (isStuck(error) ? "" : messageOf(error)),
  );
  if (ended !== "") return { ended, open: "", reviews: 0 };
  let reviews = 0;
  for await (const _ of env.kernel.reviews.list()) reviews++;
  return { ended: "", open: (await run.get()).why, reviews };
}

function isStuck(thrown: unknown): boolean {
  return thrown instanceof TestStuck;
}

/** Effects by key, over all sinks. */
function effectsOf({ effects, calls }: BodyEnd): number {
  return effects + calls.reduce((sum, { times }) => sum + times, 0);
}

function lineOf(workflow: string, window: CrashWindow, expected: number): CrashDemoLine {
  const { point, kill, difference, end } = window;
  const { when, what, name, occurrence } = point;
  const returned = end?.returned;
  const isAsked = isEnd(returned) && returned.reviews > 0;
  const effects = end === undefined ? 0 : effectsOf(end);
  const isTwice = end !== undefined && hasRepeats(end);
  const once = !isTwice && (effects === expected || (isAsked && effects < expected));
  const survived = once && (difference === undefined || isAsked);
  return {
    workflow,
    point: describePoint({ when, what, name, occurrence }),
    kill,
    interrupted: interruptedBy(point),
    ended: isAsked ? "asks a person" : endedAs(window),
    effects,
    once,
    survived,
    problem: survived ? "" : (difference ?? `${effects} effects, undisturbed ${expected}`),
  };
}

function hasRepeats({ sinks, calls }: BodyEnd): boolean {
  return calls.some(({ times }) => times > 1) || sinks.some((line) => !line.endsWith("× 1"));
}

function endedAs({ end, hasCrashed }: CrashWindow): string {
  if (!hasCrashed) return "was not reached again";
  const returned = end?.returned;
  if (!isEnd(returned)) return "failed";
  return returned.ended === "" ? "did not end" : (returned.ended.split(" with ")[0] ?? "");
}

/** What a crash interrupts, for people: before its point, and after it. */
const INTERRUPTED: Readonly<Record<CrashSubject, readonly [string, string]>> = {
  step: ["the step has run, and nobody knows", "the step is recorded"],
  intent: ["nothing of the effect is recorded", "the effect is intended"],
  sink: ["the effect is intended, not done", "the effect is done, and nobody knows"],
  observation: ["the effect is done, and nobody knows", "the effect is recorded"],
  lookup: ["the sink was asked, and nobody knows", "what the sink said is recorded"],
  proposal: ["people are not asked yet", "people are asked"],
  call: ["the tasks are not called", "the tasks are called"],
  wait: ["the wait has not begun", "the wait has begun"],
  message: ["nothing is sent to the other run", "it will arrive at the other run"],
  child: ["the child run is not started", "the child run will start"],
  release: ["the task still holds its worker", "the task is with nobody"],
  suspend: ["the code waits, and holds its worker", "the code waits, with nobody"],
  completion: ["the code has returned, and nobody knows", "the task has ended"],
};

function interruptedBy({ when, what }: ExactPoint): string {
  const [before, after] = INTERRUPTED[what];
  return when === "before" ? before : after;
}
