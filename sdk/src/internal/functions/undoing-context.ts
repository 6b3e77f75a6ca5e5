import type { ApproveOptions, Said } from "../../approval.js";
import type { ChildOptions, ChildRun } from "../../children.js";
import type { StartArguments, Startable } from "../../connect.js";
import type { Operation } from "../../operation.js";
import type { RunAskedToStop, RunSignalled, TellRunOptions } from "../../other-runs.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { never } from "../attempt-state.js";
import type { RecordInTurn } from "../message-context.js";
import { quiet } from "../quiet.js";
import type { StepToMake } from "../steps.js";
import { ContinuingContext } from "./continuing-context.js";
import { orNever } from "./held-back.js";
import { describe } from "./recorded.js";
import type { Undoing } from "./rollbacks.js";
import { scopedName, scopeOf } from "./scopes.js";

/** The `ctx` of a function whose work is undone: it is given what was recorded, and begins nothing. */
export class UndoingContext extends ContinuingContext {
  constructor(options: AttemptContextOptions, undoing: Undoing) {
    super(options, undoing);
  }

  /** What could not be settled on the way; undefined: nothing. */
  get doubt(): unknown {
    return this.doubted;
  }

  protected override makeStep<T>(step: StepToMake): Promise<T> {
    const key = typeof step.first === "function" ? undefined : step.first.key;
    const name = scopedName(scopeOf(this), step.name);
    if (this.recordedStep(name, key) !== undefined) return super.makeStep(step);
    if (this.undoing?.onFresh === undefined) return never();
    // Which version it would take is for the comparison to say; it is not recorded.
    if (step.name.startsWith("$version/")) return super.makeStep(step);
    this.undoing.onFresh(describe({ kind: "step", name, key }));
    return never();
  }

  protected override inTurn<T>(name: string, key: string, run: RecordInTurn<T>): Promise<T> {
    return this.recordedStep(name, key) === undefined ? never() : super.inTurn(name, key, run);
  }

  override publish(): void {
    // It was published before.
  }

  override approve<Sent, Result>(
    operation: Operation<Sent, Result>,
    content: Sent,
    options: ApproveOptions,
  ): Promise<Said<Result>> {
    return quiet(orNever(super.approve(operation, content, options)));
  }

  override signalRun(
    runId: string,
    name: string,
    payload?: unknown,
    options?: TellRunOptions,
  ): Promise<RunSignalled> {
    return quiet(orNever(super.signalRun(runId, name, payload, options)));
  }

  override cancelRun(
    runId: string,
    reason?: string,
    options?: TellRunOptions,
  ): Promise<RunAskedToStop> {
    return quiet(orNever(super.cancelRun(runId, reason, options)));
  }

  override startChild<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...args: StartArguments<Sent, ChildOptions>
  ): Promise<ChildRun<Output>> {
    return quiet(orNever(super.startChild(definition, ...args)));
  }

  override continueAsNew(): Promise<never> {
    return never();
  }

  override child<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...args: StartArguments<Sent, ChildOptions>
  ): Promise<Output> {
    return quiet(orNever(super.child(definition, ...args)));
  }

  override progress(): void {
    // It was told before.
  }

  override emit(): void {
    // It was shown before.
  }

  override log(): void {
    // It was written before.
  }
}
