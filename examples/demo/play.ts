import type { Run } from "@pawl/sdk";
import type { Child } from "../processes/child.js";
import type { HoldPoint } from "../ticket-service/client.js";
import { approvalPlays } from "./play-approval.js";
import { mergePlays } from "./play-merge.js";
import { type Scene, SceneError } from "./scene.js";
import { untilEvent, untilSettled } from "./until.js";
import type { Window } from "./windows.js";

/** How to play one window. Resolves when the run has ended or waits for a person; a kernel serves it then. */
export type Play = (scene: Scene) => Promise<void>;

/** How each window is played. */
export const plays: Readonly<Record<Window, Play>> = {
  "before-sink": (scene) => killWorker(scene, "before-effect"),
  "after-sink": (scene) => killWorker(scene, "after-effect"),
  "after-completion": killAfterCompletion,
  "kernel-before-segment": (scene) => killKernelAt(scene, "segment:before"),
  "kernel-after-segment": (scene) => killKernelAt(scene, "segment:after"),
  "kernel-checkpoint": (scene) => killKernelAt(scene, "checkpoint:after"),
  "kernel-start": killStartingKernel,
  both: killBoth,
  "single-before-sink": (scene) => killAgent(scene, "before-effect"),
  "single-after-sink": (scene) => killAgent(scene, "after-effect"),
  "single-after-completion": killAgentAfterCompletion,
  ...mergePlays,
  ...approvalPlays,
};

async function killWorker(scene: Scene, point: HoldPoint): Promise<void> {
  await scene.startReadyKernel();
  const worker = await scene.startWorker("all");
  const { run, holdId } = await startAndHold(scene, point);
  await scene.kill("worker", worker);
  // The caller is gone: before the effect its request is lost with it, after the effect the answer is.
  await scene.tickets.release("drop", { holdId });
  await scene.startWorker("all");
  await untilSettled(run);
}

async function killAfterCompletion(scene: Scene): Promise<void> {
  const kernel = await scene.startReadyKernel();
  const worker = await scene.startWorker("effect");
  const run = await scene.startRun();
  await untilEvent(run, ({ type, task }) => type === "TaskCompleted" && task === "file");
  await Promise.all([scene.kill("worker", worker), scene.kill("kernel", kernel)]);
  await scene.startReadyKernel();
  await scene.startWorker("all");
  await untilSettled(run);
}

/** The call stands behind its effect when the crash point is armed; what the kernel is told next brings it there. */
async function killKernelAt(scene: Scene, point: string): Promise<void> {
  const env = { PAWL_CRASH_AT: point, PAWL_CRASH_WHEN: scene.armFile };
  const kernel = await scene.startReadyKernel(env);
  await scene.startWorker("all");
  const { run, holdId } = await startAndHold(scene, "after-effect");
  await scene.arm();
  await scene.tickets.release("go", { holdId });
  await scene.diesByItself("kernel", kernel);
  await scene.startReadyKernel();
  await untilSettled(run);
}

async function killStartingKernel(scene: Scene): Promise<void> {
  const kernel = await scene.startReadyKernel();
  await scene.startWorker("all");
  const { run, holdId } = await startAndHold(scene, "after-effect");
  await scene.kill("kernel", kernel);
  await scene.tickets.release("go", { holdId });
  await scene.diesByItself("kernel", scene.startKernel({ PAWL_CRASH_AT: "start:recovered" }));
  await scene.startReadyKernel();
  await untilSettled(run);
}

async function killBoth(scene: Scene): Promise<void> {
  const kernel = await scene.startReadyKernel();
  const worker = await scene.startWorker("all");
  const { run, holdId } = await startAndHold(scene, "after-effect");
  await Promise.all([scene.kill("worker", worker), scene.kill("kernel", kernel)]);
  await scene.tickets.release("drop", { holdId });
  await scene.startReadyKernel();
  await scene.startWorker("all");
  await untilSettled(run);
}

async function killAgent(scene: Scene, point: HoldPoint): Promise<void> {
  const holdId = await scene.hold(point);
  const agent = scene.startAgent("all");
  await scene.untilHeld(holdId);
  await scene.kill("agent", agent);
  await scene.tickets.release("drop", { holdId });
  await goOnAlone(scene);
}

async function killAgentAfterCompletion(scene: Scene): Promise<void> {
  const agent = scene.startAgent("effect");
  await mustTell(agent, "TaskCompleted file");
  await scene.kill("agent", agent);
  await goOnAlone(scene);
}

/** The agent again, to the end; then a kernel on the same folder, which can be asked. */
async function goOnAlone(scene: Scene): Promise<void> {
  const agent = scene.startAgent("all");
  await Promise.race([mustTell(agent, "RunClosed"), mustTell(agent, "ReviewOpened")]);
  agent.askToEnd();
  await agent.ended;
  await scene.startReadyKernel();
}

async function mustTell(agent: Child, event: string): Promise<void> {
  const said = await agent.says(event);
  if (said !== undefined) return;
  const { lastErrors } = await agent.ended;
  throw new SceneError(`the agent ended before ${event}: ${lastErrors.join("\n")}`);
}

async function startAndHold(
  scene: Scene,
  point: HoldPoint,
): Promise<{ readonly run: Run; readonly holdId: string }> {
  const holdId = await scene.hold(point);
  const run = await scene.startRun();
  await scene.untilHeld(holdId);
  return { run, holdId };
}
