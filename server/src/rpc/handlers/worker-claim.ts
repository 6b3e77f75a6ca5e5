import { fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ClaimTasksRequest,
  type ClaimTasksResponseSchema,
  type Offer,
  OfferSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { encodeOffer } from "@pawl/proto/v1/worker_service_wire.js";
import { limits } from "../../core/limits.js";
import type { Run } from "../../core/state.js";
import type {
  SessionHello,
  SessionLease,
  SessionListener,
  WorkerSession,
} from "../../kernel/kernel-api.js";
import type { Cancellable } from "../../kernel/ports.js";
import type { CallContext } from "../call-scope.js";
import { Channel } from "../channel.js";
import type { Edge } from "../edge.js";
import { offerShape } from "../streams/offer.js";
import { ownSession, requireServes } from "../streams/work-hello.js";
import {
  readDurationMs,
  readNamespace,
  requireNumber,
  requireSessionId,
  requireText,
} from "../validate/fields.js";

type Response = MessageInitShape<typeof ClaimTasksResponseSchema>;

/**
 * Claims tasks without the worker stream: gives offers as they come until enough were given, or once what is there within `wait`.
 */
export async function* claimTasks(
  edge: Edge,
  request: ClaimTasksRequest,
  call: CallContext,
): AsyncIterable<Response> {
  const hello = readClaim(edge, request, call);
  requireNumber(request.tasksMax, "tasks_max", { min: 0, max: limits.batchItemsMax });
  const tasksMax = Math.max(1, request.tasksMax);
  const waitMs = readDurationMs(request.wait, "wait", limits.waitMsMax);
  const claims = new Claims(tasksMax, request.once, call.signal);
  const session = await edge.kernel.connectSession(hello, claims);
  claims.begin(session);
  const timer = request.once ? finishAfter(edge, claims, hello.namespace, waitMs) : undefined;
  try {
    for await (const offer of claims.channel) {
      // One offer a message: each may be long.
      yield { offers: [offer] };
    }
  } finally {
    timer?.cancel();
    session.disconnect();
  }
}

/** Ends a claim after its wait; without one, after the kernel has matched once what is ready with what was asked for. */
function finishAfter(
  edge: Edge,
  claims: Claims,
  namespace: string,
  waitMs: number,
): Cancellable | undefined {
  if (waitMs > 0) {
    return edge.timers.after(waitMs, () => claims.finish());
  }
  // Any read is answered by the turn that gathers now, and that turn matches before it ends.
  edge.kernel.findOperation(namespace, "").then(
    () => claims.finish(),
    (error: unknown) => claims.channel.fail(error),
  );
  return undefined;
}

/**
 * Every claim is a session of its own in the kernel: were it the worker's, each claim would take back what the claims before it
 * gave out and the worker still holds. Leases of an ended claim live on by renewals.
 */
function readClaim(edge: Edge, request: ClaimTasksRequest, call: CallContext): SessionHello {
  const namespace = readNamespace(request.namespace);
  const { sessionId, worker, serves } = request;
  requireSessionId(sessionId, "session_id");
  requireText(worker, "worker", { min: 0, max: limits.idBytesMax });
  requireServes(serves, "serves");
  const suffix = Buffer.from(edge.random.bytes(8)).toString("hex");
  const own = ownSession(`${sessionId}#${suffix}`, namespace, call.caller);
  return { sessionId: own, worker, namespace, serves, holds: [] };
}

class Claims implements SessionListener {
  readonly channel: Channel<Offer>;
  readonly #once: boolean;
  #left: number;
  #gathering: Offer[] = [];
  #sealed: Offer[] = [];
  #session: WorkerSession | undefined;
  #isFinishing = false;

  constructor(tasksMax: number, once: boolean, signal: AbortSignal) {
    this.#left = tasksMax;
    this.#once = once;
    this.channel = new Channel(signal);
  }

  begin(session: WorkerSession): void {
    this.#session = session;
    session.addCredits(this.#left);
  }

  /** The wait is over: no more claims, but what is claimed already is still given. */
  finish(): void {
    this.#isFinishing = true;
    this.#session?.drain();
    this.#endWhenDone();
  }

  offer(lease: SessionLease, run: Run): void {
    const shape = offerShape({ ...lease, handle: 0 }, run);
    if (shape !== undefined) {
      this.#gathering.push(fromBinary(OfferSchema, encodeOffer(shape)));
    }
  }

  /** Read with GetRecords. */
  ended(): void {}

  /** Told to whoever renews the lease. */
  cancel(): void {}

  /** Told to whoever names the lease. */
  lost(): void {}

  outcome(): void {}

  prepare(): void {
    this.#sealed.push(...this.#gathering);
    this.#gathering = [];
  }

  release(): void {
    const sealed = this.#sealed;
    this.#sealed = [];
    for (const offer of sealed) {
      this.channel.push(offer);
    }
    this.#left -= sealed.length;
    if (this.#left <= 0 || (this.#once && sealed.length > 0)) {
      this.finish();
    } else {
      this.#endWhenDone();
    }
  }

  fault(error: unknown): void {
    this.channel.fail(error);
  }

  /** Never: each claim is a session of its own. */
  superseded(): void {}

  #endWhenDone(): void {
    if (this.#isFinishing && this.#gathering.length === 0 && this.#sealed.length === 0) {
      this.channel.end();
    }
  }
}
