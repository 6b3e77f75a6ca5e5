import type { ObligationDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import type { MakeObligation, ObligationOrder } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import { childRunId } from "../identity/child-run-id.js";
import { equalBytes } from "../identity/content-digest.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { holds, leaseLost } from "../lease-standing.js";
import { limits } from "../limits.js";
import { planVersionOf } from "../plan/plan-versions.js";
import { fingerprintConflict, type Rejection } from "../rejection.js";
import { type Obligation, obligationIdentity, type Run } from "../state.js";
import { chooseVersion } from "./choose-version.js";
import { findTask, taskNotFound } from "./find.js";
import { refuseNew } from "./hold-back.js";

/**
 * Records that the run owes another one something. Refusals, in order: no task, another receiver or content than the recorded one, lease
 * lost, too many obligations, no current version of a child's workflow. What is recorded is answered `existing`, whoever holds the task: nothing is sent twice.
 */
export function decideMakeObligation(
  run: Run,
  command: MakeObligation,
  ctx: DecideContext,
): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  const { name, key, order } = command;
  const identity = obligationIdentity({ task: task.rollsBack ?? task.number, name, key, order });
  const recorded = run.obligations[run.obligationsByIdentity.get(identity) ?? -1];
  if (recorded !== undefined) {
    const conflict = refuseOther(recorded, command, ctx);
    return conflict === undefined
      ? acceptExisting({ existing: true, obligation: recorded.number })
      : reject(conflict);
  }
  const refusal = refuseNew(found, "tell another run");
  if (refusal !== undefined) {
    return reject(refusal);
  }
  if (!holds(task, command.leaseVersion)) {
    return reject(leaseLost(task, command.leaseVersion));
  }
  if (run.obligations.length >= limits.obligationsMax) {
    return reject(tooMany());
  }
  const { leaseVersion, seenThrough } = command;
  const { runId: parent, incarnation } = run;
  const child = { runId: parent, incarnation, task: found.spec.name, name, key };
  const planVersion = planVersionOf(run, task.number);
  const runId =
    order.case === "child" ? childRunId({ ...child, planVersion }, ctx.sha256) : command.runId;
  const declared = declareOrder(run, order, ctx);
  if ("reason" in declared) {
    return reject(declared);
  }
  const declaration: ObligationDeclarationShape = {
    name,
    key,
    task: task.number,
    runId,
    principal: ctx.principal,
    order: declared,
  };
  return accept([{ case: "obligationMade", value: { declaration, leaseVersion, seenThrough } }], {
    existing: false,
    obligation: run.obligations.length,
  });
}

function declareOrder(
  { namespace }: Run,
  order: ObligationOrder,
  ctx: DecideContext,
): ObligationDeclarationShape["order"] | Rejection {
  switch (order.case) {
    case "signal": {
      const { signal, payload } = order;
      return { case: "signal", value: { signal, payload, contentDigest: digestOf(payload, ctx) } };
    }
    case "cancel":
      return { case: "cancel", value: { reason: order.reason, child: 0 } };
    case "child": {
      const { case: _case, versionChoice: choice, ...value } = order;
      if (choice === undefined) {
        return { case: "child", value: { ...value, codeVersion: undefined } };
      }
      const chosen = chooseVersion({ namespace, choice, ...value }, ctx);
      return "reason" in chosen ? chosen : { case: "child", value: { ...value, ...chosen } };
    }
  }
}

const noDigest = new Uint8Array(0);

function digestOf(payload: Uint8Array | undefined, { sha256 }: DecideContext): Uint8Array {
  return payload === undefined ? noDigest : sha256(payload);
}

/** Why code is refused that asked for something before under this name; undefined when it asks for the same again. */
function refuseOther(
  { declaration }: Obligation,
  { runId, order }: MakeObligation,
  ctx: DecideContext,
): Rejection | undefined {
  const refuse = (differs: string, recorded: string, received: string): Rejection | undefined =>
    recorded === received
      ? undefined
      : conflictOf(declaration, differs, {
          recorded: ctx.sha256(encodeUtf8(recorded)),
          received: ctx.sha256(encodeUtf8(received)),
        });
  if (declaration.order.case === "child" && order.case === "child") {
    const { fingerprint: recorded } = declaration.order.value;
    const { fingerprint: received } = order;
    return equalBytes(recorded, received)
      ? undefined
      : conflictOf(declaration, "start", { recorded, received });
  }
  const other = refuse("run_id", declaration.runId, runId);
  if (other !== undefined || declaration.order.case !== order.case) {
    return other;
  }
  if (declaration.order.case === "cancel" && order.case === "cancel") {
    return refuse("reason", declaration.order.value.reason, order.reason);
  }
  if (declaration.order.case !== "signal" || order.case !== "signal") {
    return undefined;
  }
  const { signal, contentDigest } = declaration.order.value;
  const digest = digestOf(order.payload, ctx);
  return (
    refuse("signal", signal, order.signal) ??
    (equalBytes(contentDigest, digest)
      ? undefined
      : conflictOf(declaration, "payload", { recorded: contentDigest, received: digest }))
  );
}

function conflictOf(
  { name, key }: Pick<ObligationDeclarationShape, "name" | "key">,
  differs: string,
  digests: { readonly recorded: Uint8Array; readonly received: Uint8Array },
): Rejection {
  const id = key === undefined ? name : `${name}/${key}`;
  return fingerprintConflict({ entity: "obligation", id, ...digests, differs });
}

function tooMany(): Rejection {
  const bound = `${limits.obligationsMax} obligations`;
  return {
    reason: "PAWL_TOO_LARGE",
    message: `Expected at most ${bound} in a run, but this would be one more. Next: split the work into several runs.`,
    detail: { case: "overloaded", value: { resource: "obligations", bound } },
  };
}
