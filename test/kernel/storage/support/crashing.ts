import { encodeRunRow } from "@pawl/proto/log/v1/row_wire.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { emptyLedger } from "@pawl/server/core/apply.js";
import type { Command } from "@pawl/server/core/command.js";
import { buildOperationKey } from "@pawl/server/core/identity/operation-key.js";
import { inlineRun } from "@pawl/server/core/rows/run-to-rows.js";
import type { Run } from "@pawl/server/core/state.js";
import type { Target } from "@pawl/server/kernel/outcome.js";
import type { Resident } from "@pawl/server/kernel/resident.js";
import type { CheckpointOptions } from "@pawl/server/kernel/storage/checkpointer.js";
import type { FaultPlan } from "@pawl/server/log/fault-plan.js";
import { expect } from "vitest";
import { planOf } from "../../../core/support/plans.js";
import { sha256 } from "../../../core/support/values.js";
import { commandOf } from "../../../property/support/command-of.js";
import type { Move } from "../../../property/support/moves.js";
import { plans, startOf } from "../../../property/support/starts.js";
import { createMemoryStore, MemoryKernel } from "../../../support/kernel.js";

/** What a test does next. */
export type Deed =
  | { readonly kind: "start"; readonly plan: number }
  | {
      readonly kind: "startAgain";
      readonly run: number;
      readonly plan: number;
      readonly request: number;
    }
  | { readonly kind: "move"; readonly run: number; readonly move: Move }
  | { readonly kind: "ledger"; readonly ledger: number; readonly move: Move }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "hold" }
  | { readonly kind: "flush"; readonly writes: number }
  | { readonly kind: "powerCut"; readonly keptWrites: number }
  | { readonly kind: "restart" };

/** Plans of a few tasks, and one whose runs do not fit in one row. */
const shapes = [
  ...plans,
  planOf(Object.fromEntries(Array.from({ length: 80 }, (_, number) => [`task-${number}`, {}]))),
];

/** The key of an operation of scope NAMESPACE, as the design writes it. */
function ledgerKey(key: string): string {
  const parts = { scope: "namespace" as const, namespace: "default", operation: "pay" };
  return buildOperationKey({ ...parts, discriminator: key }, sha256).key;
}

/** Keys of operations have slashes, ids of the test's runs have none. */
function isLedger(id: string): boolean {
  return id.startsWith("namespace/"); // Ids of child runs have slashes as well.
}

function idOf(run: Run): string {
  const [declared] = [...run.operations, ...run.proposals];
  return run.kind === "run" ? run.runId : (declared?.declaration.key ?? "");
}

/** The state of a run, as text that is equal exactly for equal states. */
export function imageOf(run: Run): string {
  const bytes = encodeRunRow(inlineRun(run, { count: 0, hash: new Uint8Array(0) }));
  return Buffer.from(bytes).toString("hex");
}

/**
 * Drives a kernel and remembers, for every run, each state that it had, by its number of events, and which of them was acknowledged. After
 * any crash a run must be in one of its former states, and in none before the last acknowledged one.
 */
export class Crashing {
  readonly memory: MemoryKernel;
  /** Images by run id and number of events. A crash may lose some; what comes then has the same numbers again. */
  readonly #images = new Map<string, Map<number, string>>();
  readonly #acknowledged = new Map<string, number>();
  readonly #handedCounts = new Map<string, number>();

  private constructor(memory: MemoryKernel) {
    this.memory = memory;
  }

  /** @param faults what the first kernel's store meets; default none. */
  static async create(checkpoint: CheckpointOptions, faults?: FaultPlan): Promise<Crashing> {
    const crashing = new Crashing(new MemoryKernel(checkpoint));
    const { memory } = crashing;
    memory.observer = {
      handed: (residents) => crashing.#handed(residents),
      durable: (residents) => crashing.#durable(residents),
    };
    await createMemoryStore(memory.disk);
    await memory.open(faults === undefined ? {} : { faults });
    return crashing;
  }

  /** Ids of all runs that were started. */
  get runIds(): string[] {
    return this.ids.filter((id) => !isLedger(id));
  }

  /** Ids of all runs, and keys of all operations of scope NAMESPACE. */
  get ids(): string[] {
    return [...this.#images.keys()];
  }

  async do(deed: Deed): Promise<void> {
    await this.#do(deed);
    this.#expectUnsavedKnown();
  }

  /** Lists look at these runs in memory and at no other. */
  #expectUnsavedKnown(): void {
    const { kernel } = this.memory;
    const told = new Set<number>();
    for (const { number } of kernel.unsavedRuns()) {
      told.add(number);
    }
    for (const resident of kernel.residency.values()) {
      expect([resident.number, told.has(resident.number)]).toEqual([
        resident.number,
        resident.isDirty,
      ]);
    }
  }

  async #do(deed: Deed): Promise<void> {
    const { memory } = this;
    switch (deed.kind) {
      case "start":
        this.#start(deed.plan);
        await memory.time.settle();
        return;
      case "startAgain":
        await this.#startAgain(deed);
        return;
      case "move":
        await this.#move(deed.run, deed.move);
        return;
      case "ledger":
        await this.#moveLedger(deed.ledger, deed.move);
        return;
      case "advance":
        await memory.time.advance(deed.ms);
        return;
      case "hold":
        memory.disk.holdWrites = true;
        return;
      case "flush":
        memory.disk.flush(deed.writes);
        await memory.time.settle();
        return;
      case "powerCut":
        memory.powerCut(deed.keptWrites);
        memory.disk.holdWrites = false;
        await this.#reopen();
        return;
      case "restart":
        memory.disk.holdWrites = false;
        memory.disk.flush();
        await memory.close();
        await this.#reopen();
    }
  }

  /** Every run is in a state that it had, and in none before what was acknowledged; or it was deleted, of which its tombstone tells. */
  async expectNothingLost(): Promise<void> {
    for (const id of this.ids) {
      const acknowledged = this.#acknowledged.get(id) ?? 0;
      const run = await this.find(id);
      if (run === undefined && this.#isDeleted(id)) {
        continue;
      }
      expect(run?.eventCount ?? 0, id).toBeGreaterThanOrEqual(acknowledged);
      if (run !== undefined) {
        const image = this.#images.get(id)?.get(run.eventCount);
        expect(imageOf(run)).toBe(image);
      }
    }
  }

  #isDeleted(id: string): boolean {
    const { tombstones } = this.memory.kernel;
    const named = { namespace: "default" };
    const target: Target = isLedger(id)
      ? { kind: "ledger", ...named, operationKey: id }
      : { kind: "run", ...named, runId: id };
    return tombstones.refusal(target) !== undefined;
  }

  /** Sends commands to the first run, one after the other; each must be accepted. */
  async askAll(commands: readonly Command[]): Promise<void> {
    const { kernel, time } = this.memory;
    const target = { kind: "run", namespace: "default", runId: "run-0" } as const;
    for (const command of commands) {
      const asked = kernel.ask(target, command);
      await time.settle();
      expect(await asked).toMatchObject({ accepted: true });
    }
  }

  /**
   * Resolves at a moment at which all is in rows. Timers go on while a kernel ends and while the next begins: what they do then is in the log, and in
   * rows only later.
   */
  async untilSaved(): Promise<void> {
    const { kernel, time } = this.memory;
    await kernel.ready;
    const isUnsaved = (): boolean => [...kernel.residency.values()].some(({ isDirty }) => isDirty);
    for (let seconds = 0; isUnsaved(); seconds++) {
      expect(seconds).toBeLessThan(3_600);
      await time.advance(1_000);
    }
  }

  /** A run, or a ledger, as the kernel has it now. */
  async find(id: string): Promise<Run | undefined> {
    const { residency } = this.memory.kernel;
    for (;;) {
      const found = isLedger(id)
        ? residency.findLedger("default", id)
        : residency.findRun("default", id);
      if (!(found instanceof Promise)) {
        return found?.run;
      }
      await found;
    }
  }

  async #reopen(): Promise<void> {
    await this.memory.open();
    await this.expectNothingLost();
    await this.memory.time.settle();
    await this.expectNothingLost();
  }

  #start(plan: number): void {
    const chosen = shapes[plan % shapes.length];
    if (chosen === undefined) {
      throw new Error("no plan");
    }
    const runId = `run-${this.runIds.length}`;
    this.#imagesOf(runId);
    const command = { ...startOf(chosen), runId };
    this.#ask({ kind: "run", namespace: "default", runId }, command);
  }

  /** Starts a run once more, with a plan of its own: small ones become large, and large ones small. */
  async #startAgain({
    run: which,
    plan,
    request,
  }: Extract<Deed, { readonly kind: "startAgain" }>): Promise<void> {
    const runId = this.runIds[which % Math.max(1, this.runIds.length)];
    const chosen = shapes[plan % shapes.length];
    if (runId === undefined || chosen === undefined) {
      return;
    }
    await this.find(runId);
    const onExisting = request % 2 === 0 ? OnExisting.REPLACE_OPEN : OnExisting.RESTART_CLOSED;
    const command = { ...startOf(chosen), runId, onExisting, requestId: `request-${request}` };
    this.#ask({ kind: "run", namespace: "default", runId }, command);
    if (request % 3 !== 0) {
      await this.memory.time.settle();
    }
  }

  async #move(which: number, move: Move): Promise<void> {
    const runId = this.runIds[which % Math.max(1, this.runIds.length)];
    const run = runId === undefined ? undefined : await this.find(runId);
    if (runId === undefined || run === undefined) {
      return;
    }
    await this.memory.time.advance(move.waitMs);
    const now = await this.find(runId);
    if (now !== undefined) {
      const target = { kind: "run", namespace: "default", runId } as const;
      this.#ask(target, commandOf(now, move));
    }
    if (move.pick % 3 !== 0) {
      await this.memory.time.settle();
    }
  }

  async #moveLedger(which: number, move: Move): Promise<void> {
    const key = `invoice-${which % 3}`;
    const operationKey = ledgerKey(key);
    const run = (await this.find(operationKey)) ?? emptyLedger();
    await this.memory.time.advance(move.waitMs);
    const command = commandOf(run, move);
    const target = { kind: "ledger", namespace: "default", operationKey } as const;
    const isKeyed = command.kind === "IntendOperation" || command.kind === "ProposeAction";
    this.#ask(target, isKeyed ? { ...command, key } : command);
    if (move.pick % 3 !== 0) {
      await this.memory.time.settle();
    }
  }

  #ask(...[target, command]: Parameters<MemoryKernel["kernel"]["ask"]>): void {
    // A crash may take the answer with it; what is durable is noted where commits end.
    this.memory.kernel.ask(target, command).catch(() => undefined);
  }

  #handed(residents: readonly Resident[]): void {
    for (const { number, run } of residents) {
      if (number !== 0) {
        this.#imagesOf(idOf(run)).set(run.eventCount, imageOf(run));
        this.#handedCounts.set(idOf(run), run.eventCount);
      }
    }
  }

  /** One turn is on its way at a time, so what was handed over last is what is durable now. */
  #durable(residents: readonly Resident[]): void {
    for (const { number, run } of residents) {
      if (number !== 0) {
        this.#acknowledged.set(idOf(run), this.#handedCounts.get(idOf(run)) ?? 0);
      }
    }
  }

  #imagesOf(runId: string): Map<number, string> {
    let images = this.#images.get(runId);
    if (images === undefined) {
      images = new Map();
      this.#images.set(runId, images);
    }
    return images;
  }
}
