import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { Obligation } from "@pawl/server/core/state.js";
import { textOf } from "./contents.js";
import type { ShadowLog, ShadowRun } from "./shadow-log.js";

/** A signal that a run got from another, by the receiver's own events. */
interface Arrived {
  readonly receiver: string;
  readonly name: string;
  readonly payload: string;
}

/** What a run sent, by its own events: numbers go through all incarnations. */
interface Sent {
  readonly runId: string;
  readonly signal: string | undefined;
  readonly payload: string;
  status: ObligationStatus;
}

/**
 * What runs owed each other, by the events alone: each signal arrived once when its sender was told so, and never otherwise; those of one sender to
 * one receiver in order; nothing is owed at the end.
 */
export function checkObligations(shadow: ShadowLog, complain: (text: string) => void): void {
  const arrived = arrivalsOf(shadow, complain);
  for (const run of shadow.runs.values()) {
    for (const [number, sent] of sentBy(run, complain).entries()) {
      const key = `${run.number}/${number}`;
      if (sent.status === ObligationStatus.OPEN && run.state.fault === "") {
        complain(`obligation ${key} is still open`);
      }
      const [expected, found] = [dueOf(sent), foundOf(arrived.get(key))];
      if (expected !== found) {
        complain(`obligation ${key} is ${sent.status}: ${expected} had to come, but ${found} did`);
      }
      arrived.delete(key);
    }
  }
  for (const key of arrived.keys()) {
    complain(`a signal came of obligation ${key}, which nobody made`);
  }
}

function dueOf({ runId, signal, payload, status }: Sent): string {
  const isDue = signal !== undefined && status === ObligationStatus.DELIVERED;
  return isDue ? `${runId} ${signal} ${payload}` : "nothing";
}

function foundOf(came: Arrived | undefined): string {
  return came === undefined ? "nothing" : `${came.receiver} ${came.name} ${came.payload}`;
}

function arrivalsOf(shadow: ShadowLog, complain: (text: string) => void): Map<string, Arrived> {
  const arrived = new Map<string, Arrived>();
  for (const { state, events, number } of shadow.runs.values()) {
    const last = new Map<number, number>();
    for (const { body } of events) {
      if (body.case !== "signalReceived" || body.value.from === undefined) {
        continue;
      }
      const { name, payload, from } = body.value;
      const key = `${from.run}/${from.obligation}`;
      if (arrived.has(key)) {
        complain(`the signal of obligation ${key} came twice`);
      }
      if (from.obligation <= (last.get(from.run) ?? -1)) {
        complain(`run ${number} got obligation ${key} out of its order`);
      }
      last.set(from.run, from.obligation);
      arrived.set(key, { receiver: state.runId, name, payload: textOf(payload) });
    }
  }
  return arrived;
}

function sentBy({ events, number }: ShadowRun, complain: (text: string) => void): Sent[] {
  const sent: Sent[] = [];
  for (const { body } of events) {
    if (body.case === "obligationMade" && body.value.declaration !== undefined) {
      sent.push(sentOf(body.value.declaration));
    } else if (body.case === "obligationSettled") {
      const { obligation, status } = body.value;
      const found = sent[obligation];
      if (found?.status !== ObligationStatus.OPEN) {
        complain(`obligation ${obligation} of run ${number} was answered, but it was not open`);
      } else {
        found.status = status;
      }
    }
  }
  return sent;
}

function sentOf({ runId, order }: Obligation["declaration"]): Sent {
  return order.case === "signal"
    ? {
        ...{ runId, signal: order.value.signal, status: ObligationStatus.OPEN },
        payload: textOf(order.value.payload),
      }
    : { runId, signal: undefined, payload: "", status: ObligationStatus.OPEN };
}
