import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ProposeActionRequest,
  ProposeActionRequestSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import {
  type GuardValue,
  GuardValueSchema,
  type OperationRequest,
} from "@pawl/proto/v1/operation_pb.js";
import type { GuardSchema } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import {
  type ProposalOutcome,
  ProposalWaitSchema,
  type TaskWait,
  TaskWaitSchema,
  type WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { ApprovalGuard, ApproveOptions, Denied } from "../approval.js";
import { parseDuration } from "./duration-ms.js";
import { otherKind } from "./sleep.js";
import type { WaitCall } from "./waits.js";

/** Name of every wait for a decision; its key is the proposal's id. */
const WAIT_NAME = "approval";

/** The proposal of one operation, as it is asked for. The lease is added by whoever sends it. */
export function proposeRequest(
  request: OperationRequest,
  options: ApproveOptions,
  guards: readonly MessageInitShape<typeof GuardSchema>[],
): ProposeActionRequest {
  const { from = [], need = 0, requesterMayDecide = false, expiresIn, revises, display } = options;
  return create(ProposeActionRequestSchema, {
    operation: request.name,
    scope: request.scope,
    target: request.target,
    from: [...from],
    need,
    requesterMayDecide,
    guards: [...guards],
    revises: revises?.proposalId ?? "",
    ...(request.payload === undefined ? {} : { payload: request.payload }),
    ...(request.key === undefined ? {} : { key: request.key }),
    ...(expiresIn === undefined
      ? {}
      : { expiresIn: durationFromMs(parseDuration(expiresIn, "expiresIn")) }),
    ...(display === undefined
      ? {}
      : {
          display: {
            title: display.title ?? "",
            note: display.note ?? "",
            fields: Object.entries(display.facts ?? {}).map(([label, value]) => ({ label, value })),
          },
        }),
  });
}

/** Guards as they are proposed: values as they are now. */
export async function proposedGuards(
  guards: readonly ApprovalGuard[],
): Promise<MessageInitShape<typeof GuardSchema>[]> {
  return Promise.all(
    guards.map(async (guard) => {
      if ("value" in guard) {
        return {
          name: guard.name,
          held: { case: "value" as const, value: await presentValue(guard) },
        };
      }
      const { read, key, maxAge } = guard;
      const observation = {
        step: read,
        maxAge: durationFromMs(parseDuration(maxAge, "maxAge")),
        ...(key === undefined ? {} : { key }),
      };
      const name = key === undefined ? read : `${read}/${key}`;
      return { name, held: { case: "observation" as const, value: observation } };
    }),
  );
}

/** Present values of guards, as the intent states them; the kernel knows how old a read is. */
export async function presentGuards(guards: readonly ApprovalGuard[]): Promise<GuardValue[]> {
  const stated: GuardValue[] = [];
  for (const guard of guards) {
    if ("value" in guard) {
      stated.push(create(GuardValueSchema, { name: guard.name, value: await presentValue(guard) }));
    }
  }
  return stated;
}

async function presentValue(guard: Extract<ApprovalGuard, { value: unknown }>): Promise<string> {
  return typeof guard.value === "function" ? await guard.value() : guard.value;
}

/** The wait for the decision about a proposal. */
export function approvalCall(proposalId: string, what: string): WaitCall {
  const wait: TaskWait = create(TaskWaitSchema, {
    name: WAIT_NAME,
    key: proposalId,
    subject: { case: "proposal", value: create(ProposalWaitSchema, { proposalId }) },
  });
  return { name: WAIT_NAME, key: proposalId, what, describe: () => wait };
}

/** The outcome of such a wait. */
export function readProposal({ name, outcome }: WaitOutcome): ProposalOutcome {
  if (outcome.case !== "proposal") throw otherKind(name, "a proposal", outcome.case);
  return outcome.value;
}

/** The word for a proposal that was not approved. One that was replaced is as good as withdrawn. */
export function deniedStatus(status: ProposalStatus): Denied["status"] {
  switch (status) {
    case ProposalStatus.REJECTED:
      return "rejected";
    case ProposalStatus.EXPIRED:
      return "expired";
    default:
      return "withdrawn";
  }
}
