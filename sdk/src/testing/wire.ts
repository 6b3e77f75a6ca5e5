import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Offer,
  type WorkRequest,
  WorkRequestSchema,
  type WorkResponse,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { PawlClient } from "../client.js";
import type { Moment } from "./crash-point.js";
import { memoryPart, splitItems, type WireItem } from "./wire-item.js";

/** Who is told of what goes over the wire of a worker. */
export interface WireOwner {
  /** A moment is reached. True: somebody dies here, and nothing more gets through. */
  reached(moment: Moment): boolean;
  /** Now. */
  cut(): void;
  /** Something moved. */
  moved(): void;
}

type Work = PawlClient["workers"]["work"];

/** What a worker says to its kernel, one recorded thing at a time, so that it can be cut before and after each. */
export class Wire {
  readonly api: PawlClient;
  readonly #owner: WireOwner;
  readonly #tasks = new Map<number, string>();
  /** Names of operations by intent. */
  readonly #operations = new Map<string, string>();
  readonly #sent = new Map<number, WireItem>();
  readonly #onAnswered: (() => void)[] = [];
  #isDead = false;

  constructor(api: PawlClient, owner: WireOwner) {
    this.#owner = owner;
    const { proposeAction } = api.approvals;
    const { work } = api.workers;
    this.api = {
      ...api,
      workers: { ...api.workers, work: (requests, options) => this.#work(work, requests, options) },
      approvals: {
        ...api.approvals,
        proposeAction: (request, options) => {
          const name = request.operation ?? "";
          const task = request.holder?.task ?? "";
          return this.#around({ what: "proposal", name, task }, () =>
            proposeAction(request, options),
          );
        },
      },
    };
  }

  /** The process at its end is gone: nothing gets through in either direction. */
  kill(): void {
    this.#isDead = true;
  }

  async #around<T>(moment: Omit<Moment, "when">, call: () => Promise<T>): Promise<T> {
    if (this.#isDead) return never();
    if (this.#owner.reached({ ...moment, when: "before" })) return this.#lose();
    const answer = await call();
    return this.#owner.reached({ ...moment, when: "after" }) ? this.#lose() : answer;
  }

  async *#work(
    work: Work,
    requests: AsyncIterable<MessageInitShape<typeof WorkRequestSchema>>,
    options: Parameters<Work>[1],
  ): AsyncIterable<WorkResponse> {
    this.#sent.clear();
    let isCut = false;
    for await (const response of work(this.#outward(requests), options)) {
      this.#owner.moved();
      if (!isCut && this.#arrived(response)) {
        isCut = true;
        this.#owner.cut();
      }
      if (this.#isDead) await never();
      // A worker that lives hears nothing more on this stream until it breaks.
      if (isCut) continue;
      if (this.#sent.size === 0) for (const resolve of this.#onAnswered.splice(0)) resolve();
      yield response;
    }
  }

  async *#outward(
    requests: AsyncIterable<MessageInitShape<typeof WorkRequestSchema>>,
  ): AsyncGenerator<WorkRequest> {
    for await (const init of requests) {
      const request = create(WorkRequestSchema, init);
      this.#owner.moved();
      if (this.#isDead) await never();
      const head = memoryPart(request);
      if (head !== undefined) yield head;
      for (const item of splitItems(request)) {
        await this.#leave(item);
        yield item.request;
      }
    }
  }

  /** Never resolves when somebody dies before this item. */
  async #leave(item: WireItem): Promise<void> {
    if (this.#isDead) return never();
    if (this.#owner.reached(this.#before(item))) {
      // What was sent before is durable: else this would be an earlier moment.
      await this.#answeredAll();
      return this.#cut();
    }
    this.#sent.set(item.correlation, item);
  }

  #cut(): Promise<never> {
    this.#owner.cut();
    return never();
  }

  /** A call whose kernel dies is lost to a worker that lives. */
  #lose(): Promise<never> {
    this.#owner.cut();
    return this.#isDead
      ? never()
      : Promise.reject(new ConnectError("the kernel was killed", Code.Unavailable));
  }

  #answeredAll(): Promise<void> {
    return this.#sent.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#onAnswered.push(resolve);
        });
  }

  #before(item: WireItem): Moment {
    if (item.what === "intent" && item.intentId !== undefined) {
      this.#operations.set(item.intentId, item.name);
    }
    // What is recorded after the call of a sink is the call's own record: before it stands the sink.
    return item.what === "observation"
      ? { ...this.#momentOf(item), what: "sink", when: "after" }
      : { ...this.#momentOf(item), when: "before" };
  }

  #momentOf({ what, name, handle, intentId }: WireItem): Omit<Moment, "when"> {
    const operation = intentId === undefined ? undefined : this.#operations.get(intentId);
    return { what, name: operation ?? name, task: this.#tasks.get(handle) ?? "" };
  }

  #arrived(response: WorkResponse): boolean {
    for (const offer of response.offers) this.#offered(offer);
    let isCut = false;
    for (const correlation of response.accepted) {
      isCut = this.#answered(correlation, false) || isCut;
    }
    for (const { correlation, rejection, intent } of response.results) {
      if (rejection === undefined) {
        isCut = this.#answered(correlation, intent?.answer.case === "proceed") || isCut;
      }
    }
    return isCut;
  }

  #offered({ handle, task }: Offer): void {
    this.#tasks.set(handle, task);
  }

  #answered(correlation: number, maysCall: boolean): boolean {
    const item = this.#sent.get(correlation);
    if (item === undefined) return false;
    this.#sent.delete(correlation);
    const moment = this.#momentOf(item);
    const isCall = (item.what === "intent" || item.what === "lookup") && maysCall;
    return this.#owner.reached(
      isCall ? { ...moment, what: "sink", when: "before" } : { ...moment, when: "after" },
    );
  }
}

/** The answer of a process that is gone. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
