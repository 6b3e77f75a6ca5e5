import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { isUnstarted } from "../children.js";
import type { EventMeta, EventValue } from "../event.js";
import {
  isKernels,
  type MutableObligation,
  type MutableRun,
  obligationIdentity,
} from "../state.js";
import { isLegal, obligationStatusName, obligationTransitions } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { addObligation, addOpenChild } from "./indices.js";
import { keepBytes, keepFailure } from "./keep.js";

/** The run owes another one something. */
export function applyObligationMade(
  run: MutableRun,
  event: EventValue<"obligationMade">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const { declaration } = event;
  if (declaration === undefined) {
    throw new CorruptHistory(
      `a declaration of obligation ${run.obligations.length}`,
      "it has none",
    );
  }
  if (!isKernels(declaration) && run.obligationsByIdentity.has(obligationIdentity(declaration))) {
    throw new CorruptHistory(`obligation "${declaration.name}" to be made once`, "it was before");
  }
  const number = run.obligations.length;
  addObligation(run, {
    number,
    declaration: { ...declaration, order: keepOrder(declaration.order) },
    status: ObligationStatus.OPEN,
    madeAtMs: meta.atMs,
    madeEvent: meta.number,
    settledAtMs: 0,
    settledEvent: 0,
    earlier: false,
    ended: undefined,
    endedEvent: 0,
    endedAtMs: 0,
    carried: false,
  });
  noteFamily(run, number);
  hooks.obliged(run, number);
}

/** The receiver has answered: nothing is owed any more. */
export function applyObligationSettled(
  run: MutableRun,
  event: EventValue<"obligationSettled">,
  meta: EventMeta,
): void {
  const obligation = run.obligations[event.obligation];
  if (obligation === undefined) {
    throw new CorruptHistory(
      `an obligation ${event.obligation} in run "${run.runId}"`,
      `it has ${run.obligations.length}`,
    );
  }
  if (!isLegal(obligationTransitions, obligation.status, event.status)) {
    throw new CorruptHistory(
      `a state that may follow ${obligationStatusName(obligation.status)} for obligation ${obligation.number}`,
      `it is ${obligationStatusName(event.status)}`,
    );
  }
  obligation.status = event.status;
  obligation.settledAtMs = meta.atMs;
  obligation.settledEvent = meta.number;
  run.openObligations.delete(obligation.number);
  if (isUnstarted(obligation)) {
    forgetChild(run, obligation.number);
  }
  if (obligation.earlier || isOfFamily(obligation)) {
    forgetContent(obligation);
  }
}

/** A child has ended. */
export function applyChildEnded(
  run: MutableRun,
  event: EventValue<"childEnded">,
  meta: EventMeta,
): void {
  const child = run.obligations[event.obligation];
  if (child?.declaration.order.case !== "child" || child.ended !== undefined) {
    throw new CorruptHistory(
      `a child that obligation ${event.obligation} started and that has not ended`,
      child === undefined ? "there is none" : "it is none, or has",
    );
  }
  child.ended = {
    ...event,
    output: keepBytes(event.output),
    failure: keepFailure(event.failure),
  };
  child.endedEvent = meta.number;
  child.endedAtMs = meta.atMs;
  forgetChild(run, event.obligation);
}

/** Notes what an obligation says of parents and children; also when it comes from its row. */
export function noteFamily(run: MutableRun, number: number): void {
  const obligation = run.obligations[number];
  const order = obligation?.declaration.order;
  if (obligation === undefined || order === undefined) {
    return;
  }
  if (order.case === "ended") {
    run.toldParent ||= !obligation.earlier;
  } else if (order.case === "child") {
    const isOpen = obligation.ended === undefined && !isUnstarted(obligation);
    if (isOpen && order.value.parentClose !== ParentClose.DETACH) {
      addOpenChild(run, number);
    }
  } else if ((order.case === "cancel" || order.case === "terminate") && order.value.child > 0) {
    forgetChild(run, order.value.child - 1);
  }
}

function forgetChild(run: MutableRun, number: number): void {
  run.openChildren.delete(number);
  run.strayChildren.delete(number);
}

/** Whatever a child was started with, and what a parent was told, is in histories alone once it arrived. */
function isOfFamily({ declaration }: MutableObligation): boolean {
  return declaration.order.case === "child" || declaration.order.case === "ended";
}

/** Nobody will send it or compare with it any more: its content is in the history alone. */
export function forgetContent(obligation: MutableObligation): void {
  const { declaration } = obligation;
  const { order } = declaration;
  switch (order.case) {
    case "signal": {
      const value = { ...order.value, payload: undefined };
      obligation.declaration = { ...declaration, order: { case: "signal", value } };
      break;
    }
    case "child": {
      const value = { ...order.value, plan: undefined, input: undefined };
      obligation.declaration = { ...declaration, order: { case: "child", value } };
      break;
    }
    case "ended": {
      const value = { ...order.value, output: undefined, failure: undefined };
      obligation.declaration = { ...declaration, order: { case: "ended", value } };
      break;
    }
    default:
  }
}

/** Tells of all that is still owed: the run may pay it now. */
export function announceObligations(run: MutableRun, hooks: ApplyHooks): void {
  for (const number of run.openObligations) {
    hooks.obliged(run, number);
  }
}

type Order = MutableObligation["declaration"]["order"];

function keepOrder(order: Order): Order {
  switch (order.case) {
    case "signal":
      return {
        case: "signal",
        value: { ...order.value, payload: keepBytes(order.value.payload) },
      };
    case "child": {
      const { plan, input, fingerprint } = order.value;
      const kept = { plan: keepBytes(plan), input: keepBytes(input) };
      const value = { ...order.value, ...kept, fingerprint: keepBytes(fingerprint) };
      return { case: "child", value };
    }
    case "ended": {
      const { output, failure } = order.value;
      const kept = { output: keepBytes(output), failure: keepFailure(failure) };
      return { case: "ended", value: { ...order.value, ...kept } };
    }
    default:
      return order;
  }
}
