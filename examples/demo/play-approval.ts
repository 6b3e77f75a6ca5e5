import { setTimeout as delay } from "node:timers/promises";
import { Conflict, type ProposalInfo, Rejected, type Run } from "@pawl/sdk";
import type { Child } from "../processes/child.js";
import type { ApprovalSettings } from "./child-settings.js";
import type { Play } from "./play.js";
import { type Scene, SceneError } from "./scene.js";
import { untilEvent, untilSettled } from "./until.js";
import type { Window } from "./windows.js";

/** The windows in which a person must allow the effect. */
export type ApprovalWindow = Extract<
  Window,
  | "approval-pending"
  | "approved-not-consumed"
  | "consumed-not-performed"
  | "content-changed"
  | "expired-while-down"
  | "two-approvers"
>;

/** How each of them is played. */
export const approvalPlays: Readonly<Record<ApprovalWindow, Play>> = {
  "approval-pending": killPending,
  "approved-not-consumed": killApproved,
  "consumed-not-performed": killConsumed,
  "content-changed": changeContent,
  "expired-while-down": expireWhileDown,
  "two-approvers": killBetweenApprovers,
};

/** Without tokens there is one principal for everybody, so the requester may decide. */
const asksLocal: ApprovalSettings = {
  need: 1,
  requesterMayDecide: true,
  expiresIn: "1h",
  stopsWhenApproved: false,
  suffix: "",
};

/** A run whose effect was proposed: its task has given its lease back, and nobody has decided. */
interface Pending {
  readonly kernel: Child;
  readonly worker: Child;
  readonly run: Run;
  readonly proposal: ProposalInfo;
}

async function killPending(scene: Scene): Promise<void> {
  const { kernel, worker, run, proposal } = await startPending(scene, asksLocal);
  await Promise.all([scene.kill("kernel", kernel), scene.kill("worker", worker)]);
  await scene.startReadyKernel();
  // No worker is there: deciding needs none.
  await approve(scene, proposal);
  await scene.startWorker("all");
  await untilSettled(run);
}

async function killApproved(scene: Scene): Promise<void> {
  const stops = { ...asksLocal, stopsWhenApproved: true };
  const { kernel, worker, run, proposal } = await startPending(scene, stops);
  await approve(scene, proposal);
  if ((await worker.says("approved")) === undefined) {
    throw new SceneError("expected the worker to be told of the approval, but it ended");
  }
  await Promise.all([scene.kill("kernel", kernel), scene.kill("worker", worker)]);
  scene.approval = asksLocal;
  await scene.startReadyKernel();
  await scene.startWorker("all");
  await untilSettled(run);
}

async function killConsumed(scene: Scene): Promise<void> {
  const { kernel, worker, run, proposal } = await startPending(scene, asksLocal);
  const holdId = await scene.hold("before-effect");
  await approve(scene, proposal);
  await scene.untilHeld(holdId);
  await Promise.all([scene.kill("kernel", kernel), scene.kill("worker", worker)]);
  await scene.tickets.release("drop", { holdId });
  await scene.startReadyKernel();
  await scene.startWorker("all");
  await untilSettled(run);
}

async function changeContent(scene: Scene): Promise<void> {
  const { kernel, worker, run, proposal } = await startPending(scene, asksLocal);
  await approveWithoutWorker(scene, { worker, proposal });
  await scene.kill("kernel", kernel);
  scene.approval = { ...asksLocal, suffix: " (changed)" };
  await scene.startReadyKernel();
  const careless = await scene.startWorker("all");
  if ((await careless.says("refused")) === undefined) {
    throw new SceneError("expected the changed content to be refused, but the worker ended");
  }
  const revised = await findProposal(scene, run, ({ revises }) => revises === proposal.proposalId);
  await approve(scene, revised);
  await untilSettled(run);
}

/** So that nobody uses the approval before the content has changed. */
async function approveWithoutWorker(
  scene: Scene,
  { worker, proposal }: Pick<Pending, "worker" | "proposal">,
): Promise<void> {
  await scene.kill("worker", worker);
  await approve(scene, proposal);
}

async function expireWhileDown(scene: Scene): Promise<void> {
  const briefly = { ...asksLocal, expiresIn: "5s" } as const;
  const { kernel, worker, run, proposal } = await startPending(scene, briefly);
  await Promise.all([scene.kill("kernel", kernel), scene.kill("worker", worker)]);
  const leftMs = proposal.expiresAt.getTime() - Date.now();
  if (leftMs < 0) throw new SceneError("expected the proposal to outlive the kill, but it is over");
  await delay(leftMs + 100);
  await scene.startReadyKernel();
  await expectClosed(scene, proposal);
  await scene.startWorker("all");
  await untilSettled(run);
}

/** Two people say yes at once, and the kernel dies of the first answer that it has written. */
async function killBetweenApprovers(scene: Scene): Promise<void> {
  await Promise.all([
    scene.makeToken("worker", "worker"),
    scene.makeToken("client", "client"),
    scene.makeToken("ann", "approver"),
    scene.makeToken("bob", "approver"),
  ]);
  const crash = { PAWL_CRASH_AT: "segment:after", PAWL_CRASH_WHEN: scene.armFile };
  const needsTwo = { ...asksLocal, need: 2, requesterMayDecide: false };
  const { kernel, run, proposal } = await startPending(scene, needsTwo, crash);
  await scene.arm();
  // What is not answered is sent again by each client, and counts once.
  const decided = Promise.all(
    ["ann", "bob"].map((name) => scene.clientAs(name).approvals.approve(proposal)),
  );
  await scene.diesByItself("kernel", kernel);
  await scene.startReadyKernel();
  await decided;
  await untilSettled(run);
}

async function startPending(
  scene: Scene,
  approval: ApprovalSettings,
  env: Readonly<Record<string, string>> = {},
): Promise<Pending> {
  scene.approval = approval;
  const kernel = await scene.startReadyKernel(env);
  const worker = await scene.startWorker("all");
  const run = await scene.startRun();
  await untilEvent(run, ({ type, task }) => type === "TaskSuspended" && task === "file");
  const proposal = await findProposal(scene, run, ({ status }) => status === "pending");
  return { kernel, worker, run, proposal };
}

async function findProposal(
  scene: Scene,
  run: Run,
  isIt: (proposal: ProposalInfo) => boolean,
): Promise<ProposalInfo> {
  const { approvals } = scene.clientAs("client");
  for await (const { type, proposalId } of run.watch()) {
    if (type !== "ProposalMade") continue;
    const proposal = await approvals.get(proposalId);
    if (isIt(proposal)) return proposal;
  }
  throw new SceneError("expected another proposal, but the run has ended without it");
}

/** Approves exactly what was shown, and never another content under the same id. */
async function approve(scene: Scene, proposal: ProposalInfo): Promise<void> {
  const { approvals } = scene.clientAs("client");
  const other = { ...proposal, fingerprint: "0".repeat(64) };
  const isRefused = await approvals.approve(other).then(
    () => false,
    (error: unknown) => error instanceof Conflict,
  );
  if (!isRefused) throw new SceneError("expected a decision about other content to be refused");
  await approvals.approve(proposal, { reason: "shown to the demo" });
}

async function expectClosed(scene: Scene, proposal: ProposalInfo): Promise<void> {
  const late = await scene
    .clientAs("client")
    .approvals.approve(proposal)
    .catch((error: unknown) => error);
  if (late instanceof Rejected && late.code === "PAWL_PROPOSAL_CLOSED") return;
  throw new SceneError(`expected an approval after the time to be refused, but it was ${late}`);
}
