import { findTask } from "../core/decide/find.js";
import { leaseLost, mustStop } from "../core/lease-standing.js";
import { limits } from "../core/limits.js";
import { invalidField, notFound } from "../core/rejection.js";
import type { DurableAnswers } from "./durable-answers.js";
import type { Lease } from "./lease-table.js";
import type { Loop } from "./loop.js";
import { RejectionError, type Target } from "./outcome.js";
import type { EmittedChunk } from "./output/output-entry.js";

/** Leases as callers without a session name them: by run, task and version. Memory only. */
export class NamedLeases {
  readonly #loop: Loop;
  readonly #answers: DurableAnswers;

  constructor(loop: Loop, answers: DurableAnswers) {
    this.#loop = loop;
    this.#answers = answers;
  }

  async renew(
    target: Target,
    task: string,
    leaseVersion: number,
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    const { lease, isStopping } = await this.#find(target, task, leaseVersion);
    this.#loop.work.leases.renew(lease);
    return { leaseMs: lease.leaseMs, cancelRequested: isStopping };
  }

  async progress(
    target: Target,
    task: string,
    report: { leaseVersion: number; progress: Uint8Array },
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    const { lease, isStopping } = await this.#find(target, task, report.leaseVersion);
    lease.progress = report.progress;
    this.#loop.work.leases.renew(lease);
    return { leaseMs: lease.leaseMs, cancelRequested: isStopping };
  }

  async emit(
    target: Target,
    task: string,
    emitted: { leaseVersion: number; chunks: readonly EmittedChunk[] },
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    const { lease, isStopping } = await this.#find(target, task, emitted.leaseVersion);
    const { leases, output } = this.#loop.work;
    const refusal = output.refusal(lease, emitted.chunks);
    if (refusal !== undefined) {
      const expected = `at most ${limits.outputChannelsMax} channels under one lease`;
      throw new RejectionError(invalidField("chunks", expected, refusal));
    }
    leases.renew(lease);
    for (const chunk of emitted.chunks) {
      output.emit(lease, chunk);
    }
    return { leaseMs: lease.leaseMs, cancelRequested: isStopping };
  }

  async #find(
    target: Target,
    name: string,
    leaseVersion: number,
  ): Promise<{ lease: Lease; isStopping: boolean }> {
    const { run, number } = await this.#answers.load(target);
    const found = findTask(run, name);
    if (found === undefined) {
      throw new RejectionError(notFound("task", name));
    }
    const { task } = found;
    const lease = this.#loop.work.leases.find(number, task.number);
    if (lease?.leaseVersion !== leaseVersion) {
      throw new RejectionError(leaseLost(task, leaseVersion));
    }
    return { lease, isStopping: mustStop(run, task) };
  }
}
