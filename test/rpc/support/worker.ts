import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type HelloSchema,
  type ItemResult,
  type Offer,
  type WaitOutcome,
  type Welcome,
  WorkerService,
  type WorkRequestSchema,
  type WorkResponse,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { Duplex, GrpcClient } from "./grpc-client.js";

type Work = Duplex<typeof WorkerService.method.work>;

/** A worker that a test holds in its hands: it answers nothing by itself, not even pings, unless told to. */
export class TestWorker {
  readonly stream: Work;
  readonly welcome: Welcome;
  /** Number of the last ping. */
  lastPing = 0;
  readonly #offers: Offer[] = [];
  readonly #results = new Map<number, ItemResult | "accepted">();
  readonly seen: WorkResponse[] = [];

  private constructor(stream: Work, welcome: Welcome) {
    this.stream = stream;
    this.welcome = welcome;
  }

  /** Connects and waits for the welcome. */
  static async connect(
    client: GrpcClient,
    hello: MessageInitShape<typeof HelloSchema>,
    more: MessageInitShape<typeof WorkRequestSchema> = {},
  ): Promise<TestWorker> {
    const stream = client.duplex(WorkerService.method.work);
    const base: MessageInitShape<typeof HelloSchema> = {
      protocolVersion: 1,
      sessionId: "session",
      worker: "tester",
      serves: [{ kind: "k" }],
    };
    const request: MessageInitShape<typeof WorkRequestSchema> = {
      hello: Object.assign(base, hello),
    };
    stream.send(Object.assign(request, more));
    const { welcome, ...first } = await stream.next();
    if (welcome === undefined) {
      throw new Error("Expected a welcome first.");
    }
    const worker = new TestWorker(stream, welcome);
    worker.#take({ ...first, welcome });
    return worker;
  }

  send(request: MessageInitShape<typeof WorkRequestSchema>): void {
    this.stream.send(request);
  }

  /** The next offer, acknowledged. */
  async offer(): Promise<Offer> {
    for (;;) {
      const offer = this.#offers.shift();
      if (offer !== undefined) {
        this.send({ acks: [offer.handle] });
        return offer;
      }
      await this.receive();
    }
  }

  /** The answer to an item. */
  async answer(correlation: number): Promise<ItemResult | "accepted"> {
    for (;;) {
      const result = this.#results.get(correlation);
      if (result !== undefined) {
        this.#results.delete(correlation);
        return result;
      }
      await this.receive();
    }
  }

  /** Reason for which an item was refused; undefined when it was not. */
  async reason(correlation: number): Promise<string | undefined> {
    const answer = await this.answer(correlation);
    return answer === "accepted" ? undefined : answer.rejection?.reason;
  }

  /** The cause for which a lease was lost. */
  async lost(handle: number): Promise<string> {
    for (;;) {
      for (const { lostLeases } of this.seen) {
        const lost = lostLeases.find((lease) => lease.handle === handle);
        if (lost !== undefined) {
          return lost.cause;
        }
      }
      await this.receive();
    }
  }

  /** Why an attempt was asked to stop. */
  async asked(handle: number): Promise<string> {
    for (;;) {
      for (const { cancels } of this.seen) {
        const asked = cancels.find((cancel) => cancel.handle === handle);
        if (asked !== undefined) return asked.reason;
      }
      await this.receive();
    }
  }

  /** The first outcomes that were told of held tasks, so many. */
  async outcomes(count: number): Promise<WaitOutcome[]> {
    for (;;) {
      const told = this.seen.flatMap((message) =>
        message.outcomes.flatMap(({ outcomes }) => outcomes),
      );
      if (told.length >= count) {
        return told;
      }
      await this.receive();
    }
  }

  /** The next message, whatever it is. */
  async receive(): Promise<WorkResponse> {
    const message = await this.stream.next();
    this.#take(message);
    return message;
  }

  /** The next message that passes. */
  async receiveWhere(isWanted: (message: WorkResponse) => boolean): Promise<WorkResponse> {
    for (;;) {
      const message = await this.receive();
      if (isWanted(message)) {
        return message;
      }
    }
  }

  #take(message: WorkResponse): void {
    this.seen.push(message);
    this.#offers.push(...message.offers);
    this.lastPing = Math.max(this.lastPing, message.ping);
    for (const correlation of message.accepted) {
      this.#results.set(correlation, "accepted");
    }
    for (const result of message.results) {
      this.#results.set(result.correlation, result);
    }
  }
}
