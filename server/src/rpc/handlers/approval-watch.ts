import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AwaitApprovalRequest,
  AwaitApprovalResponseSchema,
  ProposalChangeSchema,
  WatchProposalsRequest,
  WatchProposalsResponseSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import type { ProposalSchema } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { EventBody } from "../../core/event.js";
import { notFound } from "../../core/rejection.js";
import type { WatchedEvent } from "../../kernel/kernel-api.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import type { CallContext } from "../call-scope.js";
import { requireDecider } from "../commands/proposal.js";
import type { Edge } from "../edge.js";
import { readNamespace } from "../validate/fields.js";
import { parseProposalId, proposalId } from "../views/proposal-id.js";
import { proposalView } from "../views/proposal-view.js";
import { viewOrAbsent } from "./approval-read.js";
import { refuseEnd, type Told, watch } from "./run-watch.js";

type ProposalInit = MessageInitShape<typeof ProposalSchema>;

/**
 * Waits for a decision. It watches before it looks: what is decided between the two is seen by one of them, so an answer that comes early
 * is not missed.
 */
export async function* awaitApproval(
  edge: Edge,
  request: AwaitApprovalRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof AwaitApprovalResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { runNumber, proposal } = parseProposalId(request.proposalId);
  const absent = new RejectionError(notFound("proposal", request.proposalId));
  const target: Target = { kind: "number", number: runNumber, namespace };
  const look = async (): Promise<ProposalInit> => {
    const { nowMs } = edge.kernel.info();
    const found = await viewOrAbsent(
      edge.kernel.view(target, (run) =>
        run.namespace === namespace
          ? proposalView(run, proposal, { runNumber, nowMs, withPayload: false })
          : undefined,
      ),
      absent,
    );
    if (found === undefined) {
      throw absent;
    }
    return found;
  };
  const told = watch(call, (listener) =>
    viewOrAbsent(edge.kernel.watchRunFromNow(target, listener), absent),
  );
  for await (const part of told) {
    if (part.kind === "events" && !part.events.some((each) => concerns(each, proposal))) {
      continue;
    }
    const seen = await look();
    yield { proposal: seen };
    if (seen.status !== ProposalStatus.PENDING) {
      return;
    }
    if (part.kind === "end") {
      refuseEnd(part.reason);
      return;
    }
  }
}

/** Numbers of the proposals that an event changes, with the state from then on; undefined: as it was. */
function changesOf(watched: WatchedEvent): readonly (readonly [number, ProposalStatus])[] {
  const { body } = watched.event;
  switch (body.case) {
    case "proposalMade":
      return changesOfMade(watched, body);
    case "proposalDecided":
      return [[body.value.proposal, body.value.next]];
    case "proposalEnded":
      return [[body.value.proposal, body.value.status]];
    case "operationIntended":
      return body.value.consumed === undefined
        ? []
        : [[body.value.consumed.proposal, ProposalStatus.CONSUMED]];
    default:
      return [];
  }
}

/** What a revised proposal replaces is told as well: it ended with the same event, unless it had ended before. */
function changesOfMade(
  watched: WatchedEvent,
  { value }: Extract<EventBody, { case: "proposalMade" }>,
): readonly (readonly [number, ProposalStatus])[] {
  const made = [value.proposal, ProposalStatus.PENDING] as const;
  const revises = value.declaration?.revises ?? 0;
  const revised = revises === 0 ? undefined : watched.proposal(revises - 1);
  const endedWithIt = revised !== undefined && revised.endedAtMs === watched.event.atMs;
  return endedWithIt ? [[revised.number, revised.status], made] : [made];
}

function concerns(watched: WatchedEvent, proposal: number): boolean {
  return changesOf(watched).some(([number]) => number === proposal);
}

/** Sends what happens to proposals. */
export async function* watchProposals(
  edge: Edge,
  request: WatchProposalsRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof WatchProposalsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { addressee, position } = request;
  if (addressee !== "") {
    requireDecider(addressee, "addressee");
  }
  const told = watch(call, (listener) => edge.kernel.watchAll(namespace, position, listener));
  for await (const part of told) {
    const changes = part.kind === "events" ? changesFor(part, addressee) : [];
    if (part.kind !== "events" || changes.length > 0) {
      yield { changes, position: part.position };
    }
    if (part.kind === "end") {
      refuseEnd(part.reason);
    }
  }
}

function changesFor(
  { events }: Extract<Told, { kind: "events" }>,
  addressee: string,
): MessageInitShape<typeof ProposalChangeSchema>[] {
  return events.flatMap((watched) =>
    changesOf(watched).flatMap(([number, status]) => {
      const declaration = watched.proposal(number)?.declaration;
      if (
        declaration === undefined ||
        !(addressee === "" || declaration.from.includes(addressee))
      ) {
        return [];
      }
      const { event, runId, runNumber } = watched;
      const isOfRun = declaration.namespace === "";
      return [
        {
          proposalId: proposalId(runNumber, number),
          runId,
          task: isOfRun ? watched.taskName(declaration.task) : "",
          operation: declaration.name,
          operationKey: declaration.key,
          target: declaration.target,
          fingerprint: declaration.fingerprint,
          from: [...declaration.from],
          status,
          event: event.body.case.charAt(0).toUpperCase() + event.body.case.slice(1),
          eventNumber: event.number,
        },
      ];
    }),
  );
}
