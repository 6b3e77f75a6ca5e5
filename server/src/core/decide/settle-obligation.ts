import { isUnstarted } from "../children.js";
import type { SettleObligation } from "../command.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { illegalTransition } from "../rejection.js";
import type { Run } from "../state.js";
import { isLegal, obligationStatusName, obligationTransitions } from "../transitions.js";
import { endChildWaits } from "./children.js";
import { endWaits } from "./end-waits.js";

/**
 * Records what the receiver of an obligation answered, and wakes whoever waits for it; also when the run has ended meanwhile. Refused when the
 * run has no such obligation, or the answer is none. One that is answered already is answered `existing`: the first answer counts.
 */
export function decideSettleObligation(run: Run, command: SettleObligation): Decision {
  const { obligation: number, status } = command;
  const obligation = run.obligations[number];
  if (obligation !== undefined && obligation.settledEvent !== 0) {
    return acceptExisting();
  }
  if (obligation === undefined || !isLegal(obligationTransitions, obligation.status, status)) {
    return reject(
      illegalTransition("PAWL_ILLEGAL_TRANSITION", {
        entity: "obligation",
        status: obligation === undefined ? "absent" : obligationStatusName(obligation.status),
        command: `an answer of ${obligationStatusName(status)}`,
        legal: ["an answer of the receiver"],
      }),
    );
  }
  const settled: EventBody = { case: "obligationSettled", value: { obligation: number, status } };
  const subject = { case: "obligation", value: { obligation: number } } as const;
  const ends = endWaits(run, subject, subject);
  const isNoChild = isUnstarted({ declaration: obligation.declaration, status });
  return accept([settled, ...ends, ...(isNoChild ? endChildWaits(run, number) : [])]);
}
