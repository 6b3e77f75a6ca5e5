import type { Approvals } from "../approvals.js";
import type { PawlClient } from "../client.js";
import type { Client, StartArguments, Startable } from "../connect.js";
import type { ConnectionStatus } from "../connection.js";
import type { Inputs } from "../inputs.js";
import type { KernelClient } from "../internal/kernel-client.js";
import type { Operation } from "../operation.js";
import type { Reviews } from "../reviews.js";
import type { Run, WaitOptions } from "../run.js";
import type { ClientPerformOptions, StartOptions } from "../start-options.js";
import type { Versions } from "../versions.js";
import type { CloseOptions, Worker, WorkerOptions } from "../worker-options.js";
import type { Haste } from "./pump.js";

/** What a client asks of its environment. */
export interface DrivenClientOwner {
  /** Makes a call of the client's, and passes time while it is awaited. */
  drive<T>(call: () => Promise<T>, haste: Haste): Promise<T>;
  /** Runs something of the client's by the environment's time. */
  inTime<T>(run: () => T): T;
  worker(options: WorkerOptions): Promise<Worker>;
  close(): Promise<void>;
}

/** Calls that wait for what may take its time. */
const HASTY: ReadonlySet<string> = new Set(["update", "updateResult", "result", "await"]);

/** An ordinary client whose waits pass virtual time. */
export class DrivenClient implements Client {
  readonly approvals: Approvals;
  readonly inputs: Inputs;
  readonly reviews: Reviews;
  readonly versions: Versions;
  readonly #client: KernelClient;
  readonly #owner: DrivenClientOwner;

  constructor(client: KernelClient, owner: DrivenClientOwner) {
    this.#client = client;
    this.#owner = owner;
    this.approvals = this.#driven(client.approvals);
    this.inputs = this.#driven(client.inputs);
    this.reviews = this.#driven(client.reviews);
    this.versions = this.#driven(client.versions);
  }

  get api(): PawlClient {
    return this.#client.api;
  }

  get connection(): ConnectionStatus {
    return this.#client.connection;
  }

  async start<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...[input, options]: StartArguments<Sent, StartOptions>
  ): Promise<Run<Output>> {
    const call = (): Promise<Run<Output>> => this.#client.start(definition, input, options);
    return this.#driven(await this.#owner.drive(call, "own"));
  }

  execute<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...[input, options]: StartArguments<Sent, StartOptions & WaitOptions>
  ): Promise<Output> {
    return this.#owner.drive(() => this.#client.execute(definition, input, options), "any");
  }

  run<Output = unknown>(runId: string, definition?: Startable<unknown, Output>): Run<Output> {
    return this.#driven(this.#client.run(runId, definition));
  }

  perform<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: NoInfer<Sent>,
    options: ClientPerformOptions,
  ): Promise<Result> {
    return this.#owner.drive(() => this.#client.perform(operation, payload, options), "any");
  }

  worker(options: WorkerOptions): Promise<Worker> {
    return this.#owner.worker(options);
  }

  close(_options?: CloseOptions): Promise<void> {
    return this.#owner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The same object, whose promises pass time while they are awaited. */
  #driven<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, property) => {
        const member: unknown = Reflect.get(object, property, object);
        if (typeof member !== "function" || typeof property === "symbol") return member;
        return (...values: unknown[]): unknown => {
          const result: unknown = this.#owner.inTime(() => Reflect.apply(member, object, values));
          if (!(result instanceof Promise)) return result;
          return this.#owner.drive(() => result, HASTY.has(property) ? "any" : "own");
        };
      },
    });
  }
}
