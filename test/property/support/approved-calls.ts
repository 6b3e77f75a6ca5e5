import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { EventMeta, EventValue } from "@pawl/server/core/event.js";
import type { Recorded } from "../../core/support/machine.js";
import { PERSONS_REASON } from "./command-of.js";

interface Judged {
  readonly number: number;
  readonly need: number;
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  readonly approvers: Set<string>;
  isRejected: boolean;
  isEnded: boolean;
}

/**
 * Calls of proposed actions that were not approved, from the recorded events alone: a first call needs the newest proposal of its key,
 * approved by as many as it needs, not ended, in time, of the same fingerprint; a later one needs that its time is not over, unless a
 * person has said since that it may be called again or that it did not happen. A model of its own: it looks at no state of the core.
 */
export function findUnapprovedCalls(events: readonly Recorded[]): string[] {
  const judge = new Judge();
  for (const event of events) {
    judge.hear(event);
  }
  return judge.complaints;
}

class Judge {
  readonly complaints: string[] = [];
  private readonly newest = new Map<string, Judged>();
  private readonly all: Judged[] = [];
  private readonly used = new Map<number, Judged>();
  private readonly reviews = new Map<number, number>();
  private readonly allowedAgain = new Set<number>();

  hear({ body, meta }: Recorded): void {
    switch (body.case) {
      case "proposalMade":
        this.hearProposal(body.value);
        break;
      case "proposalDecided":
        this.hearVerdict(body.value);
        break;
      case "proposalEnded":
        this.judged(body.value.proposal).isEnded = true;
        break;
      case "reviewOpened":
        if (body.value.subject === ReviewSubject.OPERATION) {
          this.reviews.set(body.value.review, body.value.operation);
        }
        break;
      case "reviewResolved":
        if (isAllowedBy(body.value)) {
          this.allowedAgain.add(this.reviews.get(body.value.review) ?? -1);
        }
        break;
      case "operationIntended":
        this.hearIntent(body.value, meta);
        break;
      default:
    }
  }

  private hearProposal({ declaration, proposal: number }: EventValue<"proposalMade">): void {
    if (declaration === undefined) {
      throw new Error("a proposal without declaration");
    }
    const judged: Judged = {
      number,
      need: declaration.need,
      fingerprint: hex(declaration.fingerprint),
      expiresAtMs: declaration.expiresAtMs,
      approvers: new Set(),
      isRejected: false,
      isEnded: false,
    };
    this.all[number] = judged;
    this.newest.set(declaration.key, judged);
  }

  private hearVerdict({ proposal, verdict, principal }: EventValue<"proposalDecided">): void {
    const judged = this.judged(proposal);
    if (verdict === ProposalVerdict.APPROVE) {
      judged.approvers.add(principal);
    } else {
      judged.isRejected = true;
    }
  }

  private hearIntent(value: EventValue<"operationIntended">, { atMs, number }: EventMeta): void {
    const { operation, declaration, consumed } = value;
    const judged =
      declaration === undefined ? this.used.get(operation) : this.newest.get(declaration.key);
    if (judged === undefined) {
      return;
    }
    this.used.set(operation, judged);
    const isAllowed = this.allowedAgain.delete(operation);
    const fault =
      declaration === undefined
        ? faultOfRepeat(judged, atMs, isAllowed)
        : faultOfFirst(judged, atMs, {
            consumed: consumed?.proposal,
            fingerprint: hex(declaration.fingerprint),
          });
    if (fault !== undefined) {
      this.complaints.push(`event ${number}: ${fault}`);
    }
  }

  private judged(number: number): Judged {
    const judged = this.all[number];
    if (judged === undefined) {
      throw new Error(`no proposal ${number}`);
    }
    return judged;
  }
}

function faultOfFirst(
  judged: Judged,
  nowMs: number,
  call: { readonly consumed: number | undefined; readonly fingerprint: string },
): string | undefined {
  if (call.consumed !== judged.number) {
    return `consumes ${call.consumed}, but ${judged.number} is the newest of its key`;
  }
  if (judged.isRejected || judged.isEnded || judged.approvers.size < judged.need) {
    return `proposal ${judged.number} is no approval`;
  }
  if (nowMs >= judged.expiresAtMs) {
    return `proposal ${judged.number} is over`;
  }
  return judged.fingerprint === call.fingerprint ? undefined : "another action was approved";
}

function faultOfRepeat(judged: Judged, nowMs: number, isAllowed: boolean): string | undefined {
  return isAllowed || nowMs < judged.expiresAtMs
    ? undefined
    : `called again after proposal ${judged.number} was over, and nobody allowed it`;
}

/** A person who says that it did not happen allows the next call as well; a late word that the call never left does not. */
function isAllowedBy({ choice, reason }: EventValue<"reviewResolved">): boolean {
  return (
    choice === ReviewChoice.RETRY || (choice === ReviewChoice.NOT_DONE && reason === PERSONS_REASON)
  );
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
