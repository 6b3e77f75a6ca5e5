import type { MessageInitShape } from "@bufbuild/protobuf";
import type { OfferSchema, WorkResponseSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { type Client, connect, type ServedTask, type Worker } from "@pawl/sdk";
import { FakeKernel, type FakeWork } from "./fake-kernel.js";
import { jsonPayload } from "./payloads.js";

/** A fake kernel with a client connected to it. */
export class WorkerBench {
  readonly kernel: FakeKernel;
  readonly client: Client;

  private constructor(kernel: FakeKernel) {
    this.kernel = kernel;
    this.client = connect({ url: kernel.url, onConnection: () => undefined });
  }

  static async open(): Promise<WorkerBench> {
    return new WorkerBench(await FakeKernel.start());
  }

  /** A worker that was welcomed. */
  async start(serve: ServedTask[], slots = 4): Promise<{ worker: Worker; work: FakeWork }> {
    const starting = this.client.worker({ serve, slots });
    const { work } = await this.kernel.welcome();
    return { worker: await starting, work };
  }

  async close(): Promise<void> {
    await this.client.close({ drainMs: 0 });
    this.kernel.kill();
  }
}

/** What a test varies of an offer. */
export interface OfferParts {
  readonly kind: string;
  readonly handle?: number;
  readonly input?: string;
  readonly leaseMs?: number;
}

/** An offer of run `run-1`, lease version 7. */
export function offer(parts: OfferParts): MessageInitShape<typeof OfferSchema> {
  return {
    handle: parts.handle ?? 1,
    runId: "run-1",
    task: parts.kind,
    kind: parts.kind,
    attempt: 1,
    leaseVersion: 7,
    leaseMs: parts.leaseMs ?? 30_000,
    ...(parts.input === undefined ? {} : { input: jsonPayload(parts.input) }),
  };
}

/** A promise that a test opens. */
export interface Gate<T> {
  readonly promise: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open: (value) => open(value) };
}

/** The answer to an intent. */
type IntentAnswerInit = NonNullable<
  NonNullable<
    NonNullable<MessageInitShape<typeof WorkResponseSchema>["results"]>[number]["intent"]
  >["answer"]
>;

export function answerIntent(work: FakeWork, correlation: number, answer: IntentAnswerInit): void {
  work.send({ results: [{ correlation, intent: { answer } }] });
}
