import type { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { StartRun } from "@pawl/server/core/command.js";
import type { Target } from "@pawl/server/kernel/outcome.js";
import { payload } from "../../core/support/values.js";
import type { Order } from "./answers.js";
import { Caller, type World } from "./caller.js";
import { fingerprintOf } from "./contents.js";
import type { Workflow } from "./plans.js";
import type { Process } from "./process.js";
import type { LoadSettings } from "./settings.js";
import { SingleReceiver } from "./single-receiver.js";

/** A start and where it goes. */
export interface StartOrder extends Order {
  readonly command: StartRun;
}

/** An end of a run, as it was told: which one, by the events that the run had. */
export interface HeardEnd {
  readonly status: RunStatus;
  readonly eventCount: number;
}

/** Starts runs, waits for their ends, and now and then asks for what must be refused, or for an early end. */
export class Client extends Caller {
  /** Ids of runs whose start was acknowledged. */
  readonly started: string[] = [];
  /** The starts that began them, by run id. */
  readonly orders: Map<string, StartOrder> = new Map();
  /** What it was told of ends, by run id. */
  readonly ends: Map<string, HeardEnd> = new Map();
  readonly #load: LoadSettings;
  readonly #workflows: readonly Workflow[];

  constructor(
    parts: { readonly world: World; readonly process: Process },
    load: LoadSettings,
    workflows: readonly Workflow[],
  ) {
    super(parts.world, parts.process);
    this.#load = load;
    this.#workflows = workflows;
  }

  /** True when every run that it wanted is started. */
  get isDone(): boolean {
    return this.started.length === this.#load.runs;
  }

  /** Begins. */
  begin(): void {
    this.process.begin();
    this.#work().catch((error: unknown) => {
      this.world.complain(`the client fails: ${String(error)}`);
    });
  }

  async #work(): Promise<void> {
    for (let number = 0; number < this.#load.runs; number++) {
      const runId = `run-${number}`;
      const begun = startOrder(runId, this.world.prng.pick(this.#workflows));
      const order = withTimeout(begun, this.#load.runTimeoutMs);
      const answer = await this.askOne(`start ${runId}`, order);
      if (!answer.accepted) {
        this.world.complain(
          `the start of ${runId} was refused: ${answer.reason}: ${answer.message}`,
        );
      }
      this.started.push(runId);
      this.orders.set(runId, order);
      this.#follow(runId, order).catch((error: unknown) => {
        this.world.complain(`the client fails: ${String(error)}`);
      });
      await this.process.wait(this.world.prng.around(4_000));
    }
  }

  async #follow(runId: string, order: Order): Promise<void> {
    const { prng } = this.world;
    const isCancelled = prng.chance(this.#load.cancelShare);
    const isTerminated = prng.chance(this.#load.terminateShare);
    const end = this.#awaitEnd(runId, order.target);
    if (prng.chance(0.3)) {
      await this.#contradict(runId, order);
    }
    if (isCancelled || isTerminated) {
      await this.process.wait(prng.around(10_000));
      const kind = isCancelled ? "CancelRun" : "TerminateRun";
      await this.askOne(`${kind} ${runId}`, {
        target: order.target,
        command: { kind, expectedVersion: undefined, reason: "enough" },
      });
    }
    await end;
  }

  /** The same id with another content must be refused, at any time. */
  async #contradict(runId: string, { target, command }: Order): Promise<void> {
    await this.process.wait(this.world.prng.around(10_000));
    if (command.kind !== "StartRun") {
      return;
    }
    const other: StartRun = { ...command, fingerprint: fingerprintOf(runId, "another") };
    const answer = await this.askOne(`start ${runId} with another content`, {
      target,
      command: other,
    });
    if (answer.accepted || answer.reason !== "PAWL_FINGERPRINT_CONFLICT") {
      const what = answer.accepted ? "accepted" : `refused as ${answer.reason}`;
      this.world.complain(`another start of ${runId} was ${what}, not refused as a conflict`);
    }
  }

  async #awaitEnd(runId: string, target: Target): Promise<void> {
    const { value } = await this.call<HeardEnd>(
      `the end of ${runId}`,
      (reply) => {
        this.world.host.deliver((kernel) => {
          const receiver = new SingleReceiver((outcome, position) => {
            if (!this.world.host.speaks(kernel)) {
              return;
            }
            if (outcome.accepted) {
              this.world.witness.position(`the end of ${runId}`, position);
              this.world.witness.durable(
                `the end of ${runId}`,
                outcome.runNumber,
                outcome.eventCount,
              );
              reply({ status: outcome.status, eventCount: outcome.eventCount });
            } else if (outcome.reason !== "PAWL_UNAVAILABLE") {
              this.world.complain(`the end of ${runId} cannot be awaited: ${outcome.reason}`);
            }
          });
          kernel.awaitRun(target, { receiver, tag: 0 });
        });
      },
      { retryMs: 6_000 },
    );
    this.ends.set(runId, value);
  }
}

/** The start of a run, which attaches to one that exists. */
export function startOrder(runId: string, workflow: Workflow): StartOrder {
  return {
    target: { kind: "run", namespace: "default", runId },
    command: {
      kind: "StartRun",
      namespace: "default",
      runId,
      workflow: workflow.name,
      plan: workflow.plan,
      input: payload({ runId }),
      fingerprint: fingerprintOf(runId, workflow.name),
      labels: [],
      traceparent: "",
      onExisting: OnExisting.UNSPECIFIED,
      requestId: "",
    },
  };
}

function withTimeout({ target, command }: StartOrder, runTimeoutMs: number): StartOrder {
  return { target, command: runTimeoutMs === 0 ? command : { ...command, runTimeoutMs } };
}
