import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
} from "@bufbuild/protobuf";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import type { RpcClient } from "./rpc-client.js";

/** What the cases refer to; made once for each client. */
export interface World {
  /** A run whose task is leased. */
  readonly open: Offer;
  /** A run that has completed, and the lease that completed it. */
  readonly done: Offer;
  /** A run whose task is leased and was asked to stop. */
  readonly stopping: Offer;
  /** A paused run whose task is leased. */
  readonly paused: Offer;
  /** Key of an operation of the open run that has one open call, intent `i1`. */
  readonly key: string;
  /** Review of an opaque operation whose outcome is unknown. */
  readonly reviewId: string;
  readonly resolvedReviewId: string;
  /** A proposal of the open run that waits for a decision, and its fingerprint, which the two below share. */
  readonly proposalId: string;
  readonly proposalFingerprint: Uint8Array;
  readonly approvedProposalId: string;
  readonly withdrawnProposalId: string;
  /** A run that is deleted, one that is held, and one that ended with an effect of which nobody knows. */
  readonly deletedRunId: string;
  readonly heldRunId: string;
  readonly unsureRunId: string;
}

/** A call that is refused as a whole. */
export interface Case {
  readonly name: string;
  readonly expected: string;
  readonly run: (client: RpcClient, world: World) => Promise<unknown>;
}

/** A call whose refusal is a status. */
export function refused<M extends DescMethodUnary | DescMethodServerStreaming>(
  method: M,
  expected: string,
  request: (world: World) => MessageInitShape<M["input"]>,
): Case {
  return {
    name: method.name,
    expected,
    run: (client, world) => callOnce(client, method, request(world)),
  };
}

async function callOnce<M extends DescMethodUnary | DescMethodServerStreaming>(
  client: RpcClient,
  method: M,
  request: MessageInitShape<M["input"]>,
): Promise<void> {
  if (method.methodKind === "unary") {
    await client.unary(method, request);
    return;
  }
  for await (const _ of client.stream(method, request)) {
    // Only how it ends is looked at.
  }
}

/** Id of a run that there is not. */
export const unknownRun = "no-such-run";
/** The same as a field. */
export const noRun: { readonly runId: string } = { runId: unknownRun };
/** One byte too long for an id. */
export const long: string = "x".repeat(201);

/** A lease that the world's open run had never. */
export function lost({ open }: World): {
  readonly runId: string;
  readonly task: string;
  readonly leaseVersion: number;
} {
  return { runId: open.runId, task: open.task, leaseVersion: 99 };
}
