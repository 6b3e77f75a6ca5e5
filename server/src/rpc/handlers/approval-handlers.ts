import type { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import type { Edge } from "../edge.js";
import { getProposal, listProposals } from "./approval-read.js";
import { awaitApproval, watchProposals } from "./approval-watch.js";
import {
  decideProposal,
  proposeAction,
  revokeApproval,
  withdrawProposal,
} from "./approval-write.js";
import type { ServiceHandlers } from "./handler.js";

/** Handlers of ApprovalService. */
export function approvalHandlers(edge: Edge): ServiceHandlers<typeof ApprovalService> {
  return {
    proposeAction: (request, call) => proposeAction(edge, request, call),
    decideProposal: (request, call) => decideProposal(edge, request, call),
    withdrawProposal: (request, call) => withdrawProposal(edge, request, call),
    revokeApproval: (request, call) => revokeApproval(edge, request, call),
    awaitApproval: (request, call) => awaitApproval(edge, request, call),
    getProposal: (request) => getProposal(edge, request),
    listProposals: (request) => listProposals(edge, request),
    watchProposals: (request, call) => watchProposals(edge, request, call),
  };
}
