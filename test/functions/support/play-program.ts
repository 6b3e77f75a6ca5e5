import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Run } from "@pawl/sdk";
import { openTestEnvironment, type TestEnvironment } from "@pawl/sdk/testing";
import type { Circumstances, Node } from "./programs.js";
import { serveProgram } from "./run-program.js";
import { World } from "./world.js";

/** How an execution of a program ended, as far as anyone outside can see. */
export interface Played {
  readonly outcome: string;
  /** Effects by operation key. */
  readonly effects: Readonly<Record<string, number>>;
  /** What was recorded, each with how often: names of steps by task. */
  readonly recorded: Readonly<Record<string, number>>;
}

/** Rounds of people and time until a run is said to be stuck. */
const ROUNDS_MAX = 300;

/** Executes a program; people do what is asked of them. */
export async function playProgram(program: Node, circumstances: Circumstances): Promise<Played> {
  const { crashes, warmBytesMax, slots, workers, pace } = circumstances;
  const world = new World(pace);
  const { main, tasks } = serveProgram(program, world);
  await using env = await openTestEnvironment({ startAt: new Date("2030-01-01T00:00:00Z") });
  let moments = 0;
  env.onMoment(({ when, what, name, task }) => {
    const crash = crashes.find(({ moment }) => moment === moments + 1);
    moments++;
    if (crash !== undefined) env.crashAt({ when, what, name, task }, { kill: crash.kill });
  });
  for (let worker = 0; worker < workers; worker++) {
    await env.worker({ serve: tasks, warmBytesMax, slots });
  }
  const run = await env.kernel.start(main, undefined, { runId: "r" });
  for (const { name, key } of signalsOf(program, { id: "p", turns: "" })) {
    await run.signal(name, name, { requestId: `${name} ${key}` });
  }
  await helpUntilOver(env, run, world);
  const outcome = await run.result().then(
    (value) => `gave ${value}`,
    (error: unknown) => `threw ${error instanceof Error ? error.message : String(error)}`,
  );
  return {
    outcome,
    effects: Object.fromEntries([...world.effects].sort()),
    recorded: await readRecords(env),
  };
}

async function helpUntilOver(env: TestEnvironment, run: Run, world: World): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await env.settle();
    if ((await run.get()).status !== RunStatus.RUNNING) return;
    const hasHelped = await help(env, world);
    if (!hasHelped) await env.advance("30m");
  }
  throw new Error(`stuck: ${(await run.get()).why}`);
}

/** What people do: approve, answer, and tell what the books say. */
async function help({ kernel }: TestEnvironment, world: World): Promise<boolean> {
  let hasHelped = false;
  for await (const { proposalId } of kernel.approvals.list()) {
    hasHelped = true;
    await kernel.approvals.approve(await kernel.approvals.get(proposalId));
  }
  for await (const { inputId, version } of kernel.inputs.list()) {
    hasHelped = true;
    await kernel.inputs.provide(inputId, "that", Number(version));
  }
  for await (const review of kernel.reviews.list()) {
    hasHelped = true;
    const result = world.resultOf(review.operationKey);
    await kernel.reviews.resolve(
      review,
      result === undefined
        ? { choice: "retry", reason: "the books do not show it" }
        : { choice: "done", result, reason: "the books show it" },
    );
  }
  return hasHelped;
}

async function readRecords({ kernel }: TestEnvironment): Promise<Record<string, number>> {
  const recorded: Record<string, number> = {};
  for await (const { events } of kernel.api.runs.getHistory({ runId: "r" })) {
    for (const { type, task, step } of events) {
      // Of what the code does, the order is recorded only where it is not plain otherwise; and what was not sent may be sent at once after a crash.
      if (type !== "StepRecorded" || /^\$(order|unsent)\//.test(step)) continue;
      const name = `${task} ${step}`;
      recorded[name] = (recorded[name] ?? 0) + 1;
    }
  }
  return Object.fromEntries(Object.entries(recorded).sort());
}

interface At {
  readonly id: string;
  readonly turns: string;
}

/** Every signal that a program waits for, as often as it does. */
function signalsOf(node: Node, at: At): { readonly name: string; readonly key: string }[] {
  const inner = (each: Node, place: number, turns = at.turns): ReturnType<typeof signalsOf> =>
    signalsOf(each, { id: `${at.id}.${place}`, turns });
  switch (node.do) {
    case "signal":
      return [{ name: at.id, key: at.turns }];
    case "seq":
    case "all":
    case "contest":
      return node.nodes.flatMap((each, place) => inner(each, place));
    case "loop":
      return Array.from({ length: node.times }, (_, turn) =>
        inner(node.body, 0, `${at.turns}:${turn + 1}`),
      ).flat();
    case "map":
      return Array.from({ length: node.items }, (_, item) =>
        inner(node.body, 0).map(({ name, key }) => ({ name, key: `${key} of ${item}` })),
      ).flat();
    case "race":
    case "any":
      return inner(node.body, 0);
    default:
      return [];
  }
}
