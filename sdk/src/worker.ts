import { type ConnectOptions, connect } from "./connect.js";
import type { CloseOptions, Worker, WorkerOptions } from "./worker-options.js";

/**
 * A worker with a connection of its own: `connect` and `client.worker` in one, closed together.
 *
 * @throws DefinitionInvalid; NotAKernel or AccessDenied when no kernel is there.
 */
export async function worker(options: ConnectOptions & WorkerOptions): Promise<Worker> {
  const client = connect(options);
  try {
    return new OwnWorker(await client.worker(options), () => client.close());
  } catch (thrown) {
    await client.close({ drainMs: 0 });
    throw thrown;
  }
}

class OwnWorker implements Worker {
  readonly #worker: Worker;
  readonly #closeClient: () => Promise<void>;

  constructor(inner: Worker, closeClient: () => Promise<void>) {
    this.#worker = inner;
    this.#closeClient = closeClient;
  }

  get sessionId(): string {
    return this.#worker.sessionId;
  }

  get running(): number {
    return this.#worker.running;
  }

  async close(options?: CloseOptions): Promise<void> {
    await this.#worker.close(options);
    await this.#closeClient();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
