import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { Command, ObligationOrder, RecordStep, WaitFor } from "@pawl/server/core/command.js";
import { RejectionError } from "@pawl/server/kernel/outcome.js";
import { failure, payload } from "../../core/support/values.js";
import type { Answer, IntentAnswer, Order } from "./answers.js";
import type { Timed } from "./caller.js";
import { fingerprintOf } from "./contents.js";
import { type Ledger, Outdated, outdated, Performance, Stopped } from "./perform.js";
import { childWorkflow, type Instruction, type OperationSpec, type Telling } from "./plans.js";
import type { Worker } from "./worker.js";
import type { Offer } from "./worker-connection.js";

/** One attempt of a task: runs its code, and keeps its lease. */
export class Attempt {
  readonly offer: Offer;
  readonly #worker: Worker;
  readonly #code: readonly Instruction[];
  readonly #steps = new Map<string, string>();
  readonly #results = new Map<string, string>();
  /** What came of each wait. */
  readonly #waited = new Map<string, string>();
  /** Steps that are sent with what comes next, as the SDK does. */
  #unsent: Order[] = [];
  /** True once it knows that its lease is over. */
  isLost = false;
  #mustStop = false;
  #isOver = false;

  constructor(worker: Worker, offer: Offer, code: readonly Instruction[]) {
    this.#worker = worker;
    this.offer = offer;
    this.#code = code;
  }

  /** Runs to its end. */
  begin(): void {
    this.#renewLater();
    this.#run()
      .catch((error: unknown) => {
        if (!(error instanceof Stopped)) {
          throw error;
        }
      })
      .finally(() => {
        this.#isOver = true;
        this.#worker.ended(this);
      });
  }

  /** Its lease is over. */
  lose(): void {
    this.isLost = true;
  }

  /** Its run was asked to stop. */
  askToStop(): void {
    this.#mustStop = true;
  }

  async #run(): Promise<void> {
    const { prng } = this.#worker.world;
    if (prng.chance(0.02)) {
      await this.#report(this.#giveBack(prng.below(500)));
      return;
    }
    for (const instruction of this.#code) {
      if (this.#mustStop) {
        await this.#report({
          ...this.#lease("ConfirmCancel"),
          failure: failure({ kind: "Stopped" }),
        });
        return;
      }
      if (this.#mustFail(instruction) || prng.chance(this.#worker.parts.settings.failShare)) {
        await this.#report({
          ...this.#lease("FailTask"),
          failure: failure(),
          retryAfterMs: undefined,
          progress: undefined,
        });
        return;
      }
      await this.#do(instruction);
    }
    const output = {
      steps: Object.fromEntries(this.#steps),
      results: Object.fromEntries(this.#results),
      waits: Object.fromEntries(this.#waited),
    };
    await this.#report({ ...this.#lease("CompleteTask"), output: payload(output) });
  }

  #mustFail(instruction: Instruction): boolean {
    return instruction.case === "fail" && instruction.incarnations.includes(this.offer.incarnation);
  }

  #giveBack(delayMs: number): Command {
    const reason = LeaseEndReason.RETURNED;
    return { ...this.#lease("EndLease"), reason, delayMs, progress: undefined };
  }

  async #do(instruction: Instruction): Promise<void> {
    switch (instruction.case) {
      case "sleep":
        await this.#worker.process.wait(instruction.ms);
        break;
      case "step":
        await this.#step(instruction.name);
        break;
      case "tell":
        await this.#tell(instruction);
        break;
      case "wait":
        await this.#wait(instruction.name, instruction.waits);
        break;
      case "perform":
        await this.#perform(instruction.operation);
        break;
      case "continue":
        await this.#continue(instruction.incarnations);
        break;
      case "fail":
    }
  }

  /** Ends the attempt and begins the next incarnation of the run. */
  async #continue(incarnations: readonly number[]): Promise<void> {
    const { incarnation } = this.offer;
    if (incarnations.includes(incarnation)) {
      await this.#report({ ...this.#lease("ContinueRun"), input: payload({ after: incarnation }) });
      throw new Stopped("its run goes on as new");
    }
  }

  /** Goes on with what ended first, or gives its lease back until something does. */
  async #wait(name: string, waits: readonly WaitFor[]): Promise<void> {
    const names = new Set(waits.map((wait) => wait.name));
    const first = [...this.offer.outcomes].find(([ended]) => names.has(ended));
    if (first !== undefined) {
      this.#waited.set(name, first.join(": "));
      const update = /^update (\d+) /.exec(first[1])?.[1];
      if (update !== undefined) {
        await this.#step(`answer ${update}`, { answers: Number(update) });
      }
      return;
    }
    await this.#report({
      ...this.#lease("SuspendTask"),
      seenThrough: this.offer.eventCount,
      waits,
      progress: undefined,
    });
    throw new Stopped("it waits");
  }

  /** Tells another run something, or starts a child; what is recorded is not sent again. */
  async #tell(telling: Telling): Promise<void> {
    const { name, what, awaits } = telling;
    const key = undefined;
    const runId = what === "child" ? "" : telling.runId;
    const order = this.#orderOf(telling);
    const command = { ...this.#lease("MakeObligation"), name, key, runId, order, seenThrough: 0 };
    const { target } = this.offer;
    const { value } = await this.#send(`tell ${what} ${runId}`, [{ target, command }]);
    const last = value.at(-1);
    if (!awaits || last?.accepted !== true) {
      return;
    }
    if (what === "child" && last.obligation !== undefined) {
      const subject = { case: "child", obligation: last.obligation } as const;
      await this.#wait(name, [{ name: `${name}.child`, key, subject }]);
    } else if (last.owed !== undefined) {
      const subject = { case: "obligation", obligation: last.owed } as const;
      await this.#wait(name, [{ name: `${name}.answer`, key, subject }]);
    }
  }

  #orderOf({ name, what, parentClose }: Telling): ObligationOrder {
    const { runId, taskName } = this.offer;
    const told = payload({ of: runId, task: taskName, name });
    switch (what) {
      case "cancel":
        return { case: "cancel", reason: `told by ${runId}` };
      case "signal":
        return { case: "signal", signal: `signal${name.length % 2}`, payload: told };
      case "child":
        return {
          case: "child",
          ...{ workflow: childWorkflow.name, plan: childWorkflow.plan.bytes },
          ...{ input: told, fingerprint: fingerprintOf(runId, name), parentClose, runTimeoutMs: 0 },
        };
    }
  }

  async #step(
    name: string,
    message: Pick<RecordStep, "publishes" | "answers"> = publicationOf(name),
  ): Promise<void> {
    const { prng } = this.#worker.world;
    const recorded = this.offer.steps.get(name);
    const { stepBytes } = this.#worker.parts;
    const value = recorded ?? JSON.stringify(`${prng.below(1_000_000)}${"x".repeat(stepBytes)}`);
    this.#steps.set(name, value);
    if (recorded !== undefined) {
      return;
    }
    this.#unsent.push({
      target: this.offer.target,
      command: {
        ...this.#lease("RecordStep"),
        name,
        key: undefined,
        value: payload(JSON.parse(value)),
        failure: undefined,
        seenThrough: 0,
        read: false,
        ...message,
      },
    });
    if (prng.chance(0.5)) {
      await this.#send(`step ${name}`, []);
    }
  }

  async #perform(operation: OperationSpec): Promise<void> {
    const worker = this.#worker;
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
      this.#ledger(operation),
    );
    this.#results.set(operation.name, await performance.run());
  }

  #ledger(operation: OperationSpec): Ledger {
    const { target } = this.offer;
    const { name } = operation;
    const { task, leaseVersion } = this.offer;
    const lease = { task, leaseVersion };
    const seenThrough = this.offer.eventCount;
    return {
      intend: (intentId) =>
        this.#intent(`intent ${name} ${intentId}`, {
          target,
          command: this.#intend(operation, intentId),
        }),
      observe: async (operationKey, intentId, outcome) => {
        await this.#send(
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
        if (this.#worker.world.prng.chance(0.3)) {
          await this.#worker.process.wait(400);
          return;
        }
        await this.#report(this.#giveBack(0));
        throw new Stopped("the run is paused");
      },
      awaitReview: () => Promise.reject(new Stopped("a person must decide")),
      requireMayAct: () => this.#requireMayAct(),
    };
  }

  #intend(operation: OperationSpec, intentId: string): Command {
    const { offer } = this;
    const content = operation.isOfRun ? { of: offer.runId } : Object.fromEntries(this.#steps);
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
    };
  }

  async #intent(what: string, order: Order): Promise<Timed<IntentAnswer>> {
    const { value, sentAtMs } = await this.#send(what, [order]);
    const last = value.at(-1);
    if (last?.accepted === true && last.intent !== undefined) {
      return { value: last.intent, sentAtMs };
    }
    throw new Stopped(`${what} was refused`);
  }

  /** Sends orders behind the steps that wait. What is refused ends the attempt, but for observations. */
  async #send(
    what: string,
    orders: readonly Order[],
    { isForAnyLease = false }: { readonly isForAnyLease?: boolean } = {},
  ): Promise<Timed<readonly Answer[]>> {
    const sent = [...this.#unsent, ...orders];
    this.#unsent = [];
    const { offer } = this;
    const timed = await this.#worker.ask(
      `${what} (${offer.runId} ${offer.taskName} v${offer.leaseVersion})`,
      sent,
      {
        isOver: () => this.#isOver && !isForAnyLease,
        route: this.#worker.route,
      },
    );
    for (const answer of timed.value) {
      if (!answer.accepted && !isForAnyLease) {
        this.#worker.world.note(`${what} is refused: ${answer.reason}`);
        throw outdated.has(answer.reason)
          ? new Outdated(answer.reason)
          : new Stopped(answer.reason);
      }
    }
    return timed;
  }

  async #report(command: Command): Promise<void> {
    await this.#send(`report ${command.kind}`, [{ target: this.offer.target, command }]);
  }

  #lease<K extends string>(
    kind: K,
  ): { readonly kind: K; readonly task: number; readonly leaseVersion: number } {
    const { task, leaseVersion } = this.offer;
    return { kind, task, leaseVersion };
  }

  #requireMayAct(): void {
    if (this.isLost && !this.#worker.parts.settings.isStubborn) {
      throw new Stopped("the lease is lost");
    }
  }

  #renewLater(): void {
    const { process } = this.#worker;
    process.after(this.offer.leaseMs / 3, () => {
      if (!this.#isOver) {
        this.#renew();
        this.#renewLater();
      }
    });
  }

  #renew(): void {
    const { offer } = this;
    if (this.#worker.isUp) {
      this.#worker.signal("renews", (session) => session.renew(offer.handle));
      return;
    }
    const { host, network } = this.#worker.world;
    const name = this.#worker.process.name;
    const enter = this.#worker.process.entry();
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

/** Every other step publishes its value. */
function publicationOf(name: string): Pick<RecordStep, "publishes"> {
  return /[02468]$/.test(name) ? { publishes: "last" } : {};
}
