import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  GetProposalRequest,
  GetProposalResponseSchema,
  ListProposalsRequest,
  ListProposalsResponseSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import { ProposalSchema } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { RejectionError } from "../../kernel/outcome.js";
import { requireOperationKey } from "../commands/operation.js";
import { requireDecider } from "../commands/proposal.js";
import type { Edge } from "../edge.js";
import { readPage } from "../page-request.js";
import { badField } from "../refusals.js";
import { readNamespace, requireKnown } from "../validate/fields.js";
import { parseProposalId } from "../views/proposal-id.js";
import { proposalView } from "../views/proposal-view.js";
import { requireListedRun } from "./requests.js";

type GetProposalInit = MessageInitShape<typeof GetProposalResponseSchema>;

/** Reads one proposal with its content, and the one that it revises. */
export async function getProposal(
  edge: Edge,
  request: GetProposalRequest,
): Promise<GetProposalInit> {
  const namespace = readNamespace(request.namespace);
  const { which } = request;
  if (which.case === undefined) {
    throw badField("which", "one of proposal_id, operation_key", "absent");
  }
  const id = which.value;
  const place =
    which.case === "proposalId"
      ? parseProposalId(id)
      : await findByKey(edge, namespace, requiredKey(id));
  const found = await viewProposal(edge, { namespace, id, ...place });
  return found;
}

function requiredKey(key: string): string {
  requireOperationKey(key, "operation_key");
  return key;
}

interface Place {
  readonly runNumber: number;
  /** A number, or the newest of an operation's key. */
  readonly proposal: number | { readonly key: string };
}

async function findByKey(edge: Edge, namespace: string, key: string): Promise<Place> {
  const runNumber = await edge.kernel.findOperation(namespace, key);
  if (runNumber === undefined) {
    throw new RejectionError(notFound("proposal", key));
  }
  return { runNumber, proposal: { key } };
}

async function viewProposal(
  edge: Edge,
  place: Place & { readonly namespace: string; readonly id: string },
): Promise<GetProposalInit> {
  const { namespace, id, proposal } = place;
  const absent = new RejectionError(notFound("proposal", id));
  const project = (run: Run, runNumber: number): GetProposalInit | undefined => {
    const number = typeof proposal === "number" ? proposal : run.proposalsByKey.get(proposal.key);
    const state = number === undefined ? undefined : run.proposals[number];
    if (state === undefined || run.namespace !== namespace) {
      return undefined;
    }
    const options = { runNumber, nowMs: edge.kernel.info().nowMs, withPayload: true };
    const view = proposalView(run, state.number, options);
    const revised = proposalView(run, state.declaration.revises - 1, options);
    return {
      ...(view === undefined ? {} : { proposal: view }),
      ...(revised === undefined ? {} : { revised }),
    };
  };
  const target = { kind: "number", number: place.runNumber, namespace } as const;
  const found = await viewOrAbsent(edge.kernel.view(target, project), absent);
  if (found === undefined) {
    throw absent;
  }
  return found;
}

/** A run that is not there has no such proposal: whoever asked named no run. */
export async function viewOrAbsent<T>(view: Promise<T>, absent: RejectionError): Promise<T> {
  try {
    return await view;
  } catch (error) {
    throw error instanceof RejectionError && error.code === "PAWL_RUN_NOT_FOUND" ? absent : error;
  }
}

/** Lists proposals by state, addressee or run. */
export async function listProposals(
  edge: Edge,
  request: ListProposalsRequest,
): Promise<MessageInitShape<typeof ListProposalsResponseSchema>> {
  const { runId, addressee } = request;
  const namespace = readNamespace(request.namespace);
  requireKnown(request.status, "status", ProposalStatus);
  if (addressee !== "") {
    requireDecider(addressee, "addressee");
  }
  await requireListedRun(edge, { namespace, runId });
  const isAll = request.status === ProposalStatus.UNSPECIFIED && runId === "";
  const status = isAll ? ProposalStatus.PENDING : request.status;
  const filter = { namespace, runId, status, addressee };
  const { nowMs } = edge.kernel.info();
  const page = await edge.kernel.listProposals(
    filter,
    readPage(ProposalSchema, request),
    (run, runNumber, proposal) =>
      proposalView(run, proposal, { runNumber, nowMs, withPayload: false }) ?? {},
  );
  return { proposals: [...page.items], nextPageToken: page.nextPageToken };
}
