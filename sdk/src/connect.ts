import type { Approvals } from "./approvals.js";
import type { PawlClient, PawlClientOptions } from "./client.js";
import { createPawlClient } from "./client.js";
import type { ConnectionStatus } from "./connection.js";
import type { Inputs } from "./inputs.js";
import { ClientCore } from "./internal/client-core.js";
import { KernelClient } from "./internal/kernel-client.js";
import { ConnectionMonitor } from "./internal/monitor.js";
import type { Operation } from "./operation.js";
import type { PlanRef } from "./plan.js";
import type { Reviews } from "./reviews.js";
import type { Run, WaitOptions } from "./run.js";
import type { ClientPerformOptions, StartOptions } from "./start-options.js";
import type { TaskRef } from "./task.js";
import type { Versions } from "./versions.js";
import type { CloseOptions, Worker, WorkerOptions } from "./worker-options.js";

/** What can be started: a plan, or a task alone. */
export type Startable<Sent = unknown, Output = unknown> =
  | PlanRef<Sent, Output>
  | TaskRef<Sent, Output>;

/** Input and options of a start: what takes no input is started without. */
export type StartArguments<Sent, Options> = [Sent] extends [undefined]
  ? [input?: undefined, options?: Options]
  : [input: NoInfer<Sent>, options?: Options];

/** How to connect. */
export interface ConnectOptions extends PawlClientOptions {
  /** Namespace of everything this client does. Default `default`. */
  readonly namespace?: string;
  /** Told how the connection is. Without it, an outage of more than 3 s is a process warning. */
  readonly onConnection?: (status: ConnectionStatus) => void;
}

/**
 * A client. Nothing it does is lost by a restart of the kernel or of the network between: what is not answered is sent
 * again, under the same identity, until it is answered or the client is closed.
 */
export interface Client extends AsyncDisposable {
  /** The whole generated client. */
  readonly api: PawlClient;
  /** How the connection is. */
  readonly connection: ConnectionStatus;
  /** Actions that people must allow first. */
  readonly approvals: Approvals;
  /** What tasks ask people (`ctx.ask`). */
  readonly inputs: Inputs;
  /** The current versions of workflows: read and changed. */
  readonly versions: Versions;
  /** What only a person can resolve: effects whose outcome nobody knows, tasks in trouble. */
  readonly reviews: Reviews;
  /**
   * Starts a run; resolves when the start is durable.
   *
   * @throws SchemaRefused, ValueRefused, Conflict, Rejected, WaitTimedOut, Closed, NotAKernel.
   */
  start<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...input: StartArguments<Sent, StartOptions>
  ): Promise<Run<Output>>;
  /** Starts a run and gives its output: `start` and `result` in one, with one message less. */
  execute<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...input: StartArguments<Sent, StartOptions & WaitOptions>
  ): Promise<Output>;
  /** The handle of a run that was started before. With a definition its output has a type. */
  run<Output = unknown>(runId: string, definition?: Startable<unknown, Output>): Run<Output>;
  /**
   * Performs a declared effect without a worker: in a cron job, a queue consumer, another system's activity. Your own
   * durable key is the identity: whoever performs it again, in whatever process, gets the recorded result.
   *
   * @throws Refused, NotSent, OperationAbandoned, OperationInDoubt, NeedsReview, Conflict, WaitTimedOut, Closed.
   */
  perform<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: NoInfer<Sent>,
    options: ClientPerformOptions,
  ): Promise<Result>;
  /** Starts a worker; resolves when the kernel has welcomed it. Closed with the client at the latest. */
  worker(options: WorkerOptions): Promise<Worker>;
  /** Refuses new work, drains the workers, waits for starts that are not answered, and ends the connection. */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Connects to a kernel. Nothing is sent before the first call; a kernel that is not there yet is waited for.
 *
 * @throws DefinitionInvalid when the address is none.
 */
export function connect(options: ConnectOptions): Client {
  const core = new ClientCore(
    createPawlClient(options),
    options.namespace ?? "",
    new ConnectionMonitor(options.onConnection),
  );
  return new KernelClient(core);
}
