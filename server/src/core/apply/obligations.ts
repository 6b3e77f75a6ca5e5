import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { type MutableObligation, type MutableRun, obligationIdentity } from "../state.js";
import { isLegal, obligationStatusName, obligationTransitions } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { addObligation } from "./indices.js";
import { keepBytes } from "./keep.js";

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
  if (run.obligationsByIdentity.has(obligationIdentity(declaration))) {
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
  });
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
  if (obligation.earlier) {
    forgetContent(obligation);
  }
}

/** Nobody will send it or compare with it any more: its content is in the history alone. */
export function forgetContent(obligation: MutableObligation): void {
  const { declaration } = obligation;
  const { order } = declaration;
  if (order.case === "signal") {
    const value = { ...order.value, payload: undefined };
    obligation.declaration = { ...declaration, order: { case: "signal", value } };
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
  return order.case === "signal"
    ? { case: "signal", value: { ...order.value, payload: keepBytes(order.value.payload) } }
    : order;
}
