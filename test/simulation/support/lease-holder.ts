import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import { RejectionError } from "@pawl/server/kernel/outcome.js";
import { failure, payload } from "../../core/support/values.js";
import type { Answer, IntentAnswer, Order } from "./answers.js";
import type { Timed } from "./caller.js";
import { fingerprintOf } from "./contents.js";
import {
  type Ledger,
  Outdated,
  outdated,
  Performance,
  type Performed,
  Stopped,
} from "./perform.js";
import type { OperationSpec } from "./plans.js";
import type { Worker } from "./worker.js";
import type { Offer } from "./worker-connection.js";

/** What an effect is about, besides its declaration. */
export interface EffectParts {
  readonly content: unknown;
  /** Up to which event the code was given outcomes. */
  readonly seenThrough: number;
  /** True: it undoes something. */
  readonly rollback?: boolean;
}

/** Whoever works under a lease: it renews it, reports, and sends what it records in order. */
export abstract class LeaseHolder {
  readonly offer: Offer;
  /** True once it knows that its lease is over. */
  isLost = false;
  protected readonly worker: Worker;
  /** Steps that are sent with what comes next, as the SDK does. */
  protected unsent: Order[] = [];
  protected mustStop = false;
  protected isOver = false;

  constructor(worker: Worker, offer: Offer) {
    this.worker = worker;
    this.offer = offer;
  }

  /** Runs to its end. */
  begin(): void {
    this.#renewLater();
    this.run()
      .catch((error: unknown) => {
        if (!(error instanceof Stopped)) {
          throw error;
        }
      })
      .finally(() => {
        this.isOver = true;
        this.worker.ended(this);
      });
  }

  /** Its lease is over. */
  lose(): void {
    this.isLost = true;
  }

  /** It was asked to stop. */
  askToStop(): void {
    this.mustStop = true;
  }

  /** Does everything. @throws Stopped when it goes no further. */
  protected abstract run(): Promise<void>;

  /** It was refused something. */
  protected refused(_what: string, _answer: Extract<Answer, { accepted: false }>): void {}

  /** Fails the attempt. */
  protected async fail(why: FailureShape = failure()): Promise<void> {
    await this.report({
      ...this.lease("FailTask"),
      failure: why,
      retryAfterMs: undefined,
      progress: undefined,
    });
  }

  /** Says that it stopped because it was asked to. */
  protected async confirmCancel(): Promise<void> {
    await this.report({ ...this.lease("ConfirmCancel"), failure: failure({ kind: "Stopped" }) });
  }

  protected giveBack(delayMs: number): Command {
    const reason = LeaseEndReason.RETURNED;
    return { ...this.lease("EndLease"), reason, delayMs, progress: undefined };
  }

  protected async report(command: Command): Promise<void> {
    await this.send(`report ${command.kind}`, [{ target: this.offer.target, command }]);
  }

  protected lease<K extends string>(
    kind: K,
  ): { readonly kind: K; readonly task: number; readonly leaseVersion: number } {
    const { task, leaseVersion } = this.offer;
    return { kind, task, leaseVersion };
  }

  /** Sends orders behind the steps that wait. What is refused ends the attempt, but for observations. */
  protected async send(
    what: string,
    orders: readonly Order[],
    { isForAnyLease = false }: { readonly isForAnyLease?: boolean } = {},
  ): Promise<Timed<readonly Answer[]>> {
    const sent = [...this.unsent, ...orders];
    this.unsent = [];
    const { offer } = this;
    const timed = await this.worker.ask(
      `${what} (${offer.runId} ${offer.taskName} v${offer.leaseVersion})`,
      sent,
      {
        isOver: () => this.isOver && !isForAnyLease,
        route: this.worker.route,
      },
    );
    for (const answer of timed.value) {
      if (!answer.accepted && !isForAnyLease) {
        this.worker.world.note(`${what} is refused: ${answer.reason}`);
        this.refused(what, answer);
        throw outdated.has(answer.reason)
          ? new Outdated(answer.reason)
          : new Stopped(answer.reason);
      }
    }
    return timed;
  }

  /** Performs an operation to its recorded result. */
  protected perform(operation: OperationSpec, parts: EffectParts): Promise<Performed> {
    const { worker } = this;
    const { settleOf, sinks, ignoresDeadline } = worker.parts;
    const performance = new Performance(
      {
        world: worker.world,
        process: worker.process,
        sinks,
        operation,
        newIntentId: () => worker.newIntentId(),
        settleMs: settleOf(operation.settleMs, operation.callTimeoutMs),
        ignoresDeadline,
      },
      this.#ledger(operation, parts),
    );
    return performance.run();
  }

  #ledger(operation: OperationSpec, parts: EffectParts): Ledger {
    const { target } = this.offer;
    const { name } = operation;
    const { task, leaseVersion } = this.offer;
    const lease = { task, leaseVersion };
    const { seenThrough } = parts;
    return {
      intend: (intentId) =>
        this.#intent(`intent ${name} ${intentId}`, {
          target,
          command: this.#intend(operation, intentId, parts),
        }),
      observe: async (operationKey, intentId, outcome) => {
        await this.send(
          `observation ${name} ${outcome.case} of ${intentId}`,
          [
            {
              target,
              command: { kind: "ObserveOperation", operationKey, intentId, outcome, seenThrough },
            },
          ],
          { isForAnyLease: true },
        );
      },
      reconcile: (operationKey, { intentId, lookedUpIntentId }, finding) =>
        this.#intent(`finding ${name} ${finding.case} for ${intentId}`, {
          target,
          command: {
            kind: "ReconcileOperation",
            lease,
            operationKey,
            intentId,
            finding,
            lookedUpIntentId,
          },
        }),
      awaitResume: async () => {
        // Now and then it waits where it is, as a worker in another language may; else it gives its task back.
        if (this.worker.world.prng.chance(0.3)) {
          await this.worker.process.wait(400);
          return;
        }
        await this.report(this.giveBack(0));
        throw new Stopped("the run is paused");
      },
      awaitReview: () => Promise.reject(new Stopped("a person must decide")),
      requireMayAct: () => this.#requireMayAct(),
    };
  }

  #intend(
    operation: OperationSpec,
    intentId: string,
    { content, rollback = false }: EffectParts,
  ): Command {
    const { offer } = this;
    return {
      kind: "IntendOperation",
      namespace: "default",
      lease: { task: offer.task, leaseVersion: offer.leaseVersion },
      intentId,
      name: operation.name,
      scope: operation.isOfRun ? OperationScope.RUN : OperationScope.TASK,
      key: undefined,
      target: "sink",
      payload: payload(content),
      fingerprint: fingerprintOf(operation.name, JSON.stringify(content)),
      sinkKind: operation.kind,
      keyWindowMs: operation.kind === SinkKind.IDEMPOTENT ? operation.keyWindowMs : 0,
      settleMs: operation.settleMs,
      callTimeoutMs: operation.callTimeoutMs,
      seenThrough: 0,
      ...(rollback ? { rollback } : {}),
    };
  }

  async #intent(what: string, order: Order): Promise<Timed<IntentAnswer>> {
    const { value, sentAtMs } = await this.send(what, [order]);
    const last = value.at(-1);
    if (last?.accepted === true && last.intent !== undefined) {
      return { value: last.intent, sentAtMs };
    }
    throw new Stopped(`${what} was refused`);
  }

  #requireMayAct(): void {
    if (this.isLost && !this.worker.parts.settings.isStubborn) {
      throw new Stopped("the lease is lost");
    }
  }

  #renewLater(): void {
    const { process } = this.worker;
    process.after(this.offer.leaseMs / 3, () => {
      if (!this.isOver) {
        this.#renew();
        this.#renewLater();
      }
    });
  }

  #renew(): void {
    const { offer } = this;
    if (this.worker.isUp) {
      this.worker.signal("renews", (session) => session.renew(offer.handle));
      return;
    }
    const { host, network } = this.worker.world;
    const name = this.worker.process.name;
    const enter = this.worker.process.entry();
    network.send(name, "renews by name", () => {
      host.deliver((kernel) => {
        kernel
          .renewLease(offer.target, offer.taskName, offer.leaseVersion)
          .catch((error: unknown) => {
            if (error instanceof RejectionError && error.code === "PAWL_LEASE_LOST") {
              network.send(name, "hears that its lease is lost", () => enter(() => this.lose()));
            }
          });
      });
    });
  }
}
