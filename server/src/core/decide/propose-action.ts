import type { ProposalGuardShape } from "@pawl/proto/log/v1/event_wire.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { ProposeAction } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import type { OperationKey } from "../identity/operation-key.js";
import { limits } from "../limits.js";
import { planVersionOf } from "../plan/plan-versions.js";
import { newestProposal } from "../proposals.js";
import { illegalTransition, invalidField, notFound, type Rejection } from "../rejection.js";
import { type Proposal, type Run, stepIdentity } from "../state.js";
import { operationStatusName } from "../transitions.js";
import { type FoundTask, findTask, refuseLease, runIsFull, runOver } from "./find.js";
import { refuseNew, specOfCode } from "./hold-back.js";
import { keyOfOperation } from "./operation-identity.js";
import { otherAction, proposalClosed } from "./proposal-refusals.js";
import { wakeWaiters } from "./wake-waiters.js";

/**
 * Proposes an action. Refusals, in order: no lease, no task, run over or asked to stop, lease lost, a proposal to revise that is another aggregate's, another
 * action under the same key, nothing that may be revised, operation intended already, too many proposals, a guard on a read that was not recorded.
 * The same action again is answered `existing`, with what became of it.
 */
export function decideProposeAction(
  run: Run,
  command: ProposeAction,
  ctx: DecideContext,
): Decision {
  const found = command.lease === undefined ? undefined : findTask(run, command.lease.task);
  const refusal = refuseLease(run, command, found) ?? refuseStopping(run, found);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const identity = keyOfOperation(run, specOfCode(run, found), command, ctx);
  const { revises, revisesOf = ctx.runNumber } = command;
  if (revises !== undefined && revisesOf !== ctx.runNumber) {
    return reject(notFound("proposal", `${revises}`)); // Its number here is another proposal's.
  }
  const known = findProposed(run, identity.key, command.revises);
  if (known !== undefined) {
    return equalBytes(known.declaration.fingerprint, command.fingerprint)
      ? acceptExisting({ existing: true, proposal: known })
      : reject(otherAction(known, command, notAsRecorded));
  }
  const task = found?.task.number ?? 0;
  const refused = refuseNew(found, "ProposeAction") ?? refuseOther(run, identity.key, command);
  if (refused !== undefined) {
    return reject(refused);
  }
  const guards = resolveGuards(run, task, command);
  return "reason" in guards
    ? reject(guards)
    : accept([
        proposalMade(run, command, { identity, task, guards, ctx }),
        ...wakeOfRevised(run, command),
      ]);
}

/** Whoever waits for the decision about what is replaced waits no more. */
function wakeOfRevised(run: Run, { revises }: ProposeAction): EventBody[] {
  const isPending =
    revises !== undefined && run.proposals[revises]?.status === ProposalStatus.PENDING;
  const superseded = { status: ProposalStatus.SUPERSEDED, principal: "", reason: "" };
  return isPending ? wakeWaiters(run, revises, superseded) : [];
}

/** What is withdrawn as soon as it is made need not be made. */
function refuseStopping(run: Run, found: FoundTask | undefined): Rejection | undefined {
  const goesOn = run.cancelRequestedAtMs === 0 || found?.task.rollsBack !== undefined;
  return goesOn ? undefined : runOver(run, "ProposeAction");
}

/** The proposal of this key that revises the same one (or none): every later one revises the one before it. */
function findProposed(run: Run, key: string, revises: number | undefined): Proposal | undefined {
  const wanted = revises === undefined ? 0 : revises + 1;
  let proposal = newestProposal(run, key);
  while (proposal !== undefined && proposal.declaration.revises !== wanted) {
    proposal = run.proposals[proposal.declaration.revises - 1];
  }
  return proposal;
}

function refuseOther(run: Run, key: string, command: ProposeAction): Rejection | undefined {
  if (command.revises !== undefined) {
    const revised = run.proposals[command.revises];
    if (revised === undefined || revised.declaration.key !== key) {
      return notFound("proposal", `${command.revises}`);
    }
    if (revised.status === ProposalStatus.CONSUMED) {
      return proposalClosed(revised, "revise it", `${revised.number}`);
    }
  }
  const number = run.operationsByKey.get(key);
  const operation = number === undefined ? undefined : run.operations[number];
  if (operation !== undefined) {
    return operationIntended(key, operationStatusName(operation.status));
  }
  return run.proposals.length < limits.proposalsMax
    ? undefined
    : runIsFull("ProposeAction", "proposals", limits.proposalsMax);
}

const notAsRecorded = (key: string, differs: string): string =>
  `Expected the action under key "${key}" to be proposed with the recorded ${differs}, but it differs. ` +
  "What was shown stays. Next: propose the new action with `revises`, or under another key.";

function operationIntended(key: string, status: string): Rejection {
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    { entity: "operation", status, command: "ProposeAction", legal: ["propose under another key"] },
    `Expected operation "${key}" not to have been intended, but it is ${status}: an approval would come too late. Next: propose another action under another key.`,
  );
}

function resolveGuards(
  run: Run,
  task: number,
  command: ProposeAction,
): ProposalGuardShape[] | Rejection {
  const resolved: ProposalGuardShape[] = [];
  for (const [index, guard] of command.guards.entries()) {
    if ("value" in guard) {
      resolved.push({ ...guard, step: 0, observedAtMs: 0, maxAgeMs: 0 });
      continue;
    }
    const number = run.stepsByIdentity.get(stepIdentity(task, guard.step, guard.key));
    const step = number === undefined ? undefined : run.steps[number];
    if (step === undefined || step.observedAtMs === 0) {
      return invalidField(
        `guards[${index}].observation.step`,
        "a read that this task has recorded",
        step === undefined ? `"${guard.step}", which it has not` : "a step that is not a read",
      );
    }
    const { name, maxAgeMs } = guard;
    const { observedAtMs } = step;
    resolved.push({ name, value: "", step: step.number + 1, observedAtMs, maxAgeMs });
  }
  return resolved;
}

interface MadeParts {
  readonly identity: OperationKey;
  readonly task: number;
  readonly guards: ProposalGuardShape[];
  readonly ctx: DecideContext;
}

function proposalMade(run: Run, command: ProposeAction, parts: MadeParts): EventBody {
  const { identity, task, guards, ctx } = parts;
  const isNamespace = command.scope === OperationScope.NAMESPACE;
  return {
    case: "proposalMade",
    value: {
      proposal: run.proposals.length,
      declaration: {
        key: identity.key,
        uuid: identity.uuid,
        name: command.name,
        scope: command.scope,
        task,
        discriminator: command.key,
        target: command.target,
        payload: command.payload,
        fingerprint: command.fingerprint,
        planVersion: planVersionOf(run, task),
        namespace: isNamespace ? command.namespace : "",
        requester: ctx.principal,
        requesterAuthenticated: ctx.authenticated,
        from: [...command.from],
        need: command.need,
        requesterMayDecide: command.requesterMayDecide,
        expiresAtMs: ctx.nowMs + command.expiresInMs,
        guards,
        display: command.display,
        revises: command.revises === undefined ? 0 : command.revises + 1,
      },
    },
  };
}
