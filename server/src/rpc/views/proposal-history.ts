import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import type { EventBody, EventValue } from "../../core/event.js";
import { proposalStatusName } from "../../core/transitions.js";
import { namePrincipal } from "../../core/view/explain-proposal.js";
import type { Parts } from "./history-view.js";

/** Types of the events about proposals alone. */
export type ProposalCase = "proposalMade" | "proposalDecided" | "proposalEnded";

/** What the history shows of an event about a proposal. */
export function partsOfProposal(body: Extract<EventBody, { case: ProposalCase }>): Parts {
  switch (body.case) {
    case "proposalMade":
      return partsOfMade(body.value);
    case "proposalDecided": {
      const { proposal, verdict, principal, authenticated, reason, next } = body.value;
      const word = verdict === ProposalVerdict.APPROVE ? "approved" : "rejected";
      const why = reason === "" ? "" : ` ("${reason}")`;
      const who = namePrincipal(principal, authenticated);
      const detail = `${who} ${word} it${why}; the proposal is ${proposalStatusName(next)}.`;
      return { proposal, principal, detail };
    }
    case "proposalEnded": {
      const { proposal, status, principal, reason } = body.value;
      const why = reason === "" ? "" : ` ${reason}`;
      const detail = `The proposal is ${proposalStatusName(status)}.${why}`;
      return { proposal, principal, detail };
    }
  }
}

function partsOfMade({ proposal, declaration }: EventValue<"proposalMade">): Parts {
  if (declaration === undefined) {
    return { proposal };
  }
  const { name, target, from, task, payload, requester, revises, namespace } = declaration;
  const anew = revises === 0 ? "" : " anew";
  const where = target === "" ? "" : ` on "${target}"`;
  const detail = `"${name}"${where} was proposed${anew} to ${from.join(" or ")}.`;
  return {
    proposal,
    detail,
    payload,
    principal: requester,
    ...(namespace === "" ? { task } : {}),
  };
}
