import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";

/**
 * What the next incarnation of a run could not see to, by the events alone: calls of sinks that may have had an effect or may have one yet, and proposals that wait for a
 * decision or for their use. A model of its own: it looks at no state of the core.
 */
export class LeftOpen {
  /** The latest call of each operation, unless it is known what became of it. */
  readonly #calls = new Map<number, string>();
  readonly #proposals = new Set<number>();
  readonly #reviews = new Map<number, number>();

  /** Hears the next event. What is open when an incarnation begins is given, in words; with it numbers begin anew. */
  hear(body: EventBody): string[] {
    if (body.case === "runContinued" || body.case === "runRestarted") return this.#forget();
    this.#hearCall(body);
    this.#hearProposal(body);
    return [];
  }

  #hearCall(body: EventBody): void {
    switch (body.case) {
      case "operationIntended":
        this.#calls.set(body.value.operation, body.value.intentId);
        break;
      case "operationObserved": {
        const { operation, intentId, outcome } = body.value;
        const isKnown = outcome.case === "result" || outcome.case === "refused";
        const neverLeft = outcome.case === "notSent" && this.#calls.get(operation) === intentId;
        if (isKnown || neverLeft) this.#calls.delete(operation);
        break;
      }
      case "operationReconciled":
        if (body.value.finding.case !== "unknown") this.#calls.delete(body.value.operation);
        break;
      case "reviewOpened":
        if (body.value.subject === ReviewSubject.OPERATION) {
          this.#reviews.set(body.value.review, body.value.operation);
        }
        break;
      case "reviewResolved":
        this.#calls.delete(this.#reviews.get(body.value.review) ?? -1);
        break;
      default:
    }
  }

  #hearProposal(body: EventBody): void {
    switch (body.case) {
      case "proposalMade":
        this.#proposals.delete((body.value.declaration?.revises ?? 0) - 1);
        this.#proposals.add(body.value.proposal);
        break;
      case "proposalDecided":
        if (body.value.next === ProposalStatus.REJECTED) {
          this.#proposals.delete(body.value.proposal);
        }
        break;
      case "proposalEnded":
        this.#proposals.delete(body.value.proposal);
        break;
      case "operationIntended":
        this.#proposals.delete(body.value.consumed?.proposal ?? -1);
        break;
      default:
    }
  }

  #forget(): string[] {
    const left = [
      ...[...this.#calls].map(([operation, call]) => `call ${call} of operation ${operation}`),
      ...[...this.#proposals].map((proposal) => `proposal ${proposal}`),
    ];
    this.#calls.clear();
    this.#proposals.clear();
    this.#reviews.clear();
    return left;
  }
}
