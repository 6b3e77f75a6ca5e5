import { encodePayload } from "@pawl/proto/v1/payload_wire.js";
import type { PlanProposer } from "../command.js";
import type { DecideContext } from "../context.js";
import { acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { toHex } from "../identity/hex.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { limits } from "../limits.js";
import { planVersionsOf } from "../plan/plan-versions.js";
import { type RevisedPlan, revisionOf } from "../plan/revised-plan.js";
import type { CompiledPlan } from "../plan/task-spec.js";
import { fingerprintConflict } from "../rejection.js";
import { type Run, stepIdentity, type Task } from "../state.js";
import { type FoundTask, runIsFull, taskNotFound } from "./find.js";

interface Asked {
  readonly proposer: PlanProposer;
  /** The plan as it was received. */
  readonly plan: CompiledPlan;
}

/**
 * The answer to code that proposes a revision of which it has a record, or that may not make one; undefined: it has none. The record is a step: whoever enters the code again is
 * given it with all others, and does not ask.
 */
export function answerRecorded(
  run: Run,
  found: FoundTask | undefined,
  { proposer, plan }: Asked,
  ctx: DecideContext,
): Decision | undefined {
  if (found === undefined) {
    return reject(taskNotFound(proposer.task));
  }
  const { record, key } = proposer;
  const number = run.stepsByIdentity.get(stepIdentity(found.task.number, record, key));
  const value = number === undefined ? undefined : run.steps[number]?.value;
  if (number === undefined) {
    return run.steps.length < limits.stepsMax
      ? undefined
      : reject(runIsFull("RevisePlan", "steps", limits.stepsMax));
  }
  const digest = ctx.sha256(plan.bytes);
  const version = planVersionsOf(run).find(
    ({ planVersion }) => value !== undefined && equalBytes(value, recordValue(planVersion, digest)),
  );
  return version === undefined
    ? reject(
        fingerprintConflict({
          entity: "step",
          id: key === undefined ? record : `${record}/${key}`,
          recorded: ctx.sha256(value ?? new Uint8Array(0)),
          received: ctx.sha256(recordValue(0, digest)),
          differs: "plan",
        }),
      )
    : acceptExisting({ existing: true, revision: revisionOf(run, version) });
}

/** The record of a revision that code proposed: which version its plan has, and which plan it was. */
export function recordRevision(
  { number }: Task,
  { proposer, plan, revised }: Asked & { readonly revised: RevisedPlan },
  ctx: DecideContext,
): EventBody {
  return {
    case: "stepRecorded",
    value: {
      task: number,
      leaseVersion: proposer.leaseVersion,
      name: proposer.record,
      key: proposer.key,
      value: recordValue(revised.planVersion, ctx.sha256(plan.bytes)),
      seenThrough: proposer.seenThrough,
      observedAtMs: 0,
      attempt: 0,
      maxAgeMs: 0,
    },
  };
}

function recordValue(planVersion: number, digest: Uint8Array): Uint8Array {
  const text = `{"planVersion":${planVersion},"planDigest":"${toHex(digest)}"}`;
  return encodePayload({
    contentType: "application/json",
    encoding: "",
    body: { case: "data", value: encodeUtf8(text) },
  });
}
