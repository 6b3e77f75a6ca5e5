import type { Run } from "@pawl/sdk";
import type { Child } from "../processes/child.js";
import type { Play } from "./play.js";
import { type Scene, SceneError } from "./scene.js";
import { untilEvent, untilSettled } from "./until.js";
import type { Window } from "./windows.js";

/** The windows in which a function merges what the tasks found that it called. */
export type MergeWindow = Extract<
  Window,
  "coordinator-after-worker" | "merge-of-all" | "merge-of-some"
>;

/** How each of them is played. */
export const mergePlays: Readonly<Record<MergeWindow, Play>> = {
  "coordinator-after-worker": killAfterWorker,
  "merge-of-all": (scene) => killInMerge(scene, { atLeast: 3, order: ["c", "a", "b"], late: [] }),
  "merge-of-some": (scene) => killInMerge(scene, { atLeast: 2, order: ["c", "b"], late: ["a"] }),
};

/** A called task has ended, and what comes next is done while nobody runs the function. */
async function killAfterWorker(scene: Scene): Promise<void> {
  const { coordinator, run } = await startGathering(scene);
  await endLook(run, "b");
  await scene.kill("coordinator", coordinator);
  await endLook(run, "c");
  await scene.startWorker("gather");
  await endLook(run, "a");
  await untilSettled(run);
}

interface Merge {
  readonly atLeast: number;
  /** In which order the called tasks end. */
  readonly order: readonly string[];
  /** What may go on when the function merges, and is too late. */
  readonly late: readonly string[];
}

async function killInMerge(scene: Scene, { atLeast, order, late }: Merge): Promise<void> {
  scene.merge = { atLeast, stopsInMerge: true };
  const { coordinator, run } = await startGathering(scene);
  for (const what of order) await endLook(run, what);
  if ((await coordinator.says("merging")) === undefined) {
    throw new SceneError("expected the coordinator to merge, but it ended");
  }
  await scene.kill("coordinator", coordinator);
  for (const what of late) await run.signal(`look-${what}`).catch(() => undefined);
  scene.merge = { atLeast, stopsInMerge: false };
  await scene.startWorker("gather");
  await untilSettled(run);
}

async function startGathering(
  scene: Scene,
): Promise<{ readonly coordinator: Child; readonly run: Run }> {
  await scene.startReadyKernel();
  await scene.startWorker("look");
  const coordinator = await scene.startWorker("gather");
  return { coordinator, run: await scene.startRun() };
}

/** Lets a called task end, and waits until that is recorded. */
async function endLook(run: Run, what: string): Promise<void> {
  await run.signal(`look-${what}`, undefined, { requestId: `look-${what}` });
  const name = `found/${what}/demo.look`;
  await untilEvent(run, ({ type, task }) => type === "TaskCompleted" && task === name);
}
