import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { IntendOperation, ProposeAction } from "@pawl/server/core/command.js";
import { buildOperationKey } from "@pawl/server/core/identity/operation-key.js";
import type { Target } from "@pawl/server/kernel/outcome.js";
import { payload, sha256 } from "../../core/support/values.js";
import type { IntentAnswer, Order } from "./answers.js";
import { Caller, type Timed, type World } from "./caller.js";
import { fingerprintOf } from "./contents.js";
import { type Ledger, Outdated, outdated, Performance, Stopped } from "./perform.js";
import type { OperationSpec } from "./plans.js";
import type { Process } from "./process.js";
import type { Sinks } from "./sinks.js";

/** What a caller of the ledger is started with. */
export interface LedgerCallerParts {
  readonly world: World;
  readonly process: Process;
  readonly sinks: Sinks;
  /** What it performs, by the caller's own key. Other callers perform the same. */
  readonly work: readonly { readonly key: string; readonly operation: OperationSpec }[];
  readonly settleOf: (settleMs: number, callTimeoutMs: number) => number;
  readonly ignoresDeadline: boolean;
}

/** A process that performs operations of scope NAMESPACE without any lease, as a cron job would: `client.perform`. */
export class LedgerCaller extends Caller {
  readonly #parts: LedgerCallerParts;
  readonly #done = new Set<string>();
  #lives = 0;
  #intents = 0;

  constructor(parts: LedgerCallerParts) {
    super(parts.world, parts.process);
    this.#parts = parts;
  }

  /** True when all of its work is done. */
  get isDone(): boolean {
    return this.#parts.work.every(({ key }) => this.#done.has(key));
  }

  /** Begins a new life of the process: it does all of its work that it has not seen the end of. */
  begin(): void {
    this.process.begin();
    this.#lives++;
    this.#work().catch((error: unknown) => {
      if (!(error instanceof Stopped)) {
        throw error;
      }
    });
  }

  async #work(): Promise<void> {
    for (const { key, operation } of this.#parts.work) {
      await this.process.wait(this.world.prng.around(3_000));
      while (!this.#done.has(key)) {
        await this.#perform(key, operation);
      }
    }
  }

  async #perform(key: string, operation: OperationSpec): Promise<void> {
    const { world, process, sinks, settleOf, ignoresDeadline } = this.#parts;
    const performance = new Performance(
      {
        world,
        process,
        sinks,
        operation,
        newIntentId: () => `${process.name}-${this.#lives}/i${++this.#intents}`,
        settleMs: settleOf(operation.settleMs, operation.callTimeoutMs),
        ignoresDeadline,
      },
      this.#ledger(key, operation),
    );
    try {
      if (needsApproval(key)) {
        await this.#propose(key, operation);
      }
      await performance.run();
      this.#done.add(key);
    } catch (error) {
      if (!(error instanceof Stopped)) {
        throw error;
      }
      await process.wait(world.prng.around(2_000));
    }
  }

  /** Proposes it, as every caller of this key does first; whoever is later is told that it exists. */
  async #propose(key: string, operation: OperationSpec): Promise<void> {
    const operationKey = keyOfLedger(operation.name, key);
    const target: Target = { kind: "ledger", namespace: "default", operationKey };
    const answer = await this.askOne(`proposal of ${key}`, {
      target,
      command: propose(key, operation),
    });
    if (!answer.accepted) {
      throw new Stopped(answer.reason);
    }
  }

  #ledger(key: string, operation: OperationSpec): Ledger {
    const operationKey = keyOfLedger(operation.name, key);
    const target: Target = { kind: "ledger", namespace: "default", operationKey };
    return {
      intend: (intentId) =>
        this.#intent(`intent ${intentId}`, { target, command: intend(key, operation, intentId) }),
      observe: async (_key, intentId, outcome) => {
        await this.ask(`observation ${outcome.case} of ${intentId}`, [
          {
            target,
            command: { kind: "ObserveOperation", operationKey, intentId, outcome, seenThrough: 0 },
          },
        ]);
      },
      reconcile: (_key, { intentId, lookedUpIntentId }, finding) =>
        this.#intent(`finding ${finding.case} for ${intentId}`, {
          target,
          command: {
            kind: "ReconcileOperation",
            lease: undefined,
            operationKey,
            intentId,
            finding,
            lookedUpIntentId,
          },
        }),
      awaitResume: () => Promise.reject(new Error("an operation of no run was paused")),
      awaitReview: () => this.process.wait(this.world.prng.around(5_000)),
      requireMayAct: () => {},
    };
  }

  async #intent(what: string, order: Order): Promise<Timed<IntentAnswer>> {
    const { value, sentAtMs } = await this.ask(what, [order]);
    const [answer] = value;
    if (answer?.accepted === true && answer.intent !== undefined) {
      return { value: answer.intent, sentAtMs };
    }
    const reason = answer?.accepted === false ? answer.reason : "no answer";
    this.world.note(`${what} is refused: ${reason}`);
    throw outdated.has(reason) ? new Outdated(reason) : new Stopped(reason);
  }
}

/** The key of an operation of scope NAMESPACE. */
export function keyOfLedger(operation: string, key: string): string {
  return buildOperationKey(
    { scope: "namespace", namespace: "default", operation, discriminator: key },
    sha256,
  ).key;
}

/** Some of the work must be allowed by a person first. */
export function needsApproval(key: string): boolean {
  return key.charCodeAt(key.length - 1) % 2 === 1;
}

function propose(key: string, operation: OperationSpec): ProposeAction {
  return {
    kind: "ProposeAction",
    namespace: "default",
    lease: undefined,
    name: operation.name,
    scope: OperationScope.NAMESPACE,
    key,
    target: "sink",
    payload: payload({ invoice: key }),
    fingerprint: fingerprintOf(operation.name, key),
    from: ["role:approver"],
    need: 1,
    requesterMayDecide: true,
    expiresInMs: 365 * 86_400_000,
    guards: [],
    display: undefined,
    revises: undefined,
  };
}

function intend(key: string, operation: OperationSpec, intentId: string): IntendOperation {
  return {
    kind: "IntendOperation",
    namespace: "default",
    lease: undefined,
    intentId,
    name: operation.name,
    scope: OperationScope.NAMESPACE,
    key,
    target: "sink",
    payload: payload({ invoice: key }),
    fingerprint: fingerprintOf(operation.name, key),
    sinkKind: operation.kind,
    keyWindowMs: operation.kind === SinkKind.IDEMPOTENT ? operation.keyWindowMs : 0,
    settleMs: operation.settleMs,
    callTimeoutMs: operation.callTimeoutMs,
    seenThrough: 0,
  };
}
