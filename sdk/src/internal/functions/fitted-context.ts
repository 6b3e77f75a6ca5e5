import type { ProposeActionRequest } from "@pawl/proto/v1/approval_service_pb.js";
import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import type {
  ChildItem,
  ObligationItem,
  StepRecord,
  WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { ChildOptions, ChildRun } from "../../children.js";
import type { StartArguments, Startable } from "../../connect.js";
import type { PerformOptions, StepScope } from "../../context.js";
import { PawlError } from "../../errors.js";
import type { Operation } from "../../operation.js";
import type { VersionOptions, Winner, WorkingContext } from "../../workflow-context.js";
import { RecordMismatch } from "../../workflow-errors.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { never } from "../attempt-state.js";
import { decodePayload } from "../codec.js";
import { checkId } from "../ids.js";
import { placeInCode, STEP_FRAMES } from "../names.js";
import { scopeNumber } from "../operation-request.js";
import { quiet } from "../quiet.js";
import type { StepToMake } from "../steps.js";
import type { WaitCall } from "../waits.js";
import type { ItemAnswer } from "../work-item.js";
import { FunctionContext } from "./function-context.js";
import { contradiction, misfit, missingVersion, unreached } from "./misfit.js";
import { describe, type Identity, Recorded } from "./recorded.js";
import type { Undoing } from "./rollbacks.js";
import { scopedCall } from "./scoped-call.js";
import { scopedName, scopeOf } from "./scopes.js";

/** What stands before the name of a recorded version. */
const VERSION = "$version";

/** The `ctx` of a function whose code is compared with what is recorded, as it asks for one thing after the other. */
export class FittedContext extends FunctionContext implements WorkingContext {
  readonly #recorded: Recorded;
  readonly #versions = new Map<string, Promise<boolean>>();
  /** Versions of which this run has the old lines on record. */
  readonly #oldVersions: readonly OldVersion[];

  constructor(options: AttemptContextOptions, undoing?: Undoing) {
    super(options, undoing);
    this.#recorded = new Recorded(options.offer);
    if (options.offer.steps.length > 0) this.steps = this.newSteps();
    this.#oldVersions = oldVersions(options.offer.steps);
  }

  /** Code whose work is undone may contradict its records: it is not asked for more than how to undo it. */
  protected get comparesRecords(): boolean {
    return this.undoing === undefined || this.undoing.onFresh !== undefined;
  }

  /** What is recorded and was not reached, in words: effects, approvals, children and calls. */
  get unvisited(): readonly string[] {
    return this.#recorded.unvisited;
  }

  /**
   * The code has been given everything, and nothing of it runs any more.
   *
   * @throws RecordMismatch when it should have asked for a version, and did not.
   */
  assertFits(): void {
    const missing = this.#missingVersions();
    if (missing.length > 0) throw missingVersion(missing);
  }

  /**
   * As `assertFits`, and everything for which something was done was reached. What is wrong ends the attempt.
   *
   * @throws RecordMismatch
   */
  protected async assertReached(): Promise<void> {
    const { allowsUnvisited } = this.options;
    const mayLeave = (): boolean => allowsUnvisited || this.unvisited.length === 0;
    // What runs beside may ask for it, as soon as this call has returned.
    if (!mayLeave() || this.#missingVersions().length > 0) await rest();
    const missing = this.#missingVersions();
    if (missing.length > 0) throw this.#fail(missingVersion(missing));
    if (!mayLeave()) throw this.#fail(unreached(this.unvisited));
  }

  override startChild<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...args: StartArguments<Sent, ChildOptions>
  ): Promise<ChildRun<Output>> {
    return quiet(super.startChild(definition, ...args));
  }

  override race<const Entries extends Readonly<Record<string, PromiseLike<unknown>>>>(
    name: string,
    entries: Entries,
  ): Promise<Winner<Entries>> {
    return quiet(this.#judged(super.race(name, entries)));
  }

  override any<const Entries extends Readonly<Record<string, PromiseLike<unknown>>>>(
    name: string,
    entries: Entries,
  ): Promise<Winner<Entries>> {
    return quiet(this.#judged(super.any(name, entries)));
  }

  version(id: string, { key }: VersionOptions = {}): Promise<boolean> {
    const at = placeInCode(STEP_FRAMES);
    const asking = async (): Promise<boolean> => {
      checkId(id, "the id of a version");
      const name = `${VERSION}/${id}`;
      const memo = JSON.stringify([scopedName(scopeOf(this), name), key ?? null]);
      const known = this.#versions.get(memo);
      if (known !== undefined) return known;
      const first = key === undefined ? {} : { key };
      const second = (): Promise<boolean> => this.#isFresh();
      const answer = this.makeStep<boolean>({ name, first, second, isRead: false, at });
      this.#versions.set(memo, answer);
      return answer;
    };
    if (this.options.state.dropsCall()) return never();
    return quiet(asking());
  }

  /** True when nothing recorded lies beyond where the code stands. */
  #isFresh(): Promise<boolean> {
    return this.atOnce(async () => {
      await this.rollbacks.declared();
      if (this.#hasLeft) await rest();
      return !this.#hasLeft;
    });
  }

  get #hasLeft(): boolean {
    return this.#recorded.hasLeft || this.steps?.hasLeft === true;
  }

  /** Names of versions of which this run has the old lines, and for which the code did not ask. */
  #missingVersions(): readonly string[] {
    const { steps } = this;
    return this.#oldVersions.flatMap(({ id, name, key }) =>
      steps?.isReached(name, key) === true ? [] : [key === undefined ? id : `${id}/${key}`],
    );
  }

  /** The code asks for something. Undefined when it may be done; else rejects when it contradicts what is recorded. */
  #doubts(asked: Identity): Promise<void> | undefined {
    if (this.#recorded.reach(asked)) return undefined;
    if (asked.kind !== "step") this.undoing?.onFresh?.(describe(asked));
    if (!this.comparesRecords) return undefined;
    const isDoubtful =
      this.#contradicted(asked) !== undefined ||
      (actsOutside(asked) && this.#missingVersions().length > 0);
    if (!isDoubtful) return undefined;
    // The code may ask for the recorded thing as well, as soon as this call has returned.
    return this.atOnce(async () => {
      await rest();
      const recorded = this.#contradicted(asked);
      if (recorded !== undefined) throw this.#fail(contradiction(recorded, asked));
      const missing = actsOutside(asked) && !this.hasMore ? this.#missingVersions() : [];
      if (missing.length > 0) throw this.#fail(missingVersion(missing));
    });
  }

  #contradicted(asked: Identity): Identity | undefined {
    return this.#recorded.contradicted(asked) ?? this.#contradictedStep(asked);
  }

  /** A step of the same name, recorded and not asked for. */
  #contradictedStep({ kind, name, key }: Identity): Identity | undefined {
    if (kind === "step" || this.steps?.hasLeft !== true) return undefined;
    const isLeft = this.steps.find(name, key) !== undefined && !this.steps.isReached(name, key);
    return isLeft ? { kind: "step", name, key } : undefined;
  }

  /** Whatever the code makes of it, the attempt ends with it. */
  #fail<E extends PawlError>(error: E): E {
    if (error instanceof RecordMismatch && this.comparesRecords) this.options.state.fail(error);
    return error;
  }

  protected override performAs<Result>(
    operation: Operation,
    options: Pick<PerformOptions, "scope" | "key">,
    makeRequest: () => Promise<OperationRequest>,
  ): Promise<Result> {
    const { scope = "task", key } = options ?? {}; // Absent options are refused by name below.
    const { name } = operation;
    const doubt = this.#doubts({ kind: "operation", name, key, scope: scopeNumber(scope) });
    doubt?.catch(() => undefined);
    const make = async (): Promise<OperationRequest> => {
      const made = quiet(makeRequest());
      await doubt;
      return await made;
    };
    const performing = super.performAs<Result>(operation, options, make);
    return scope === "task" ? quiet(this.#judged(performing)) : performing;
  }

  /** What is refused because of what is recorded of this task is a difference between records and code. */
  async #judged<T>(asking: Promise<T>): Promise<T> {
    try {
      return await asking;
    } catch (error) {
      throw error instanceof PawlError ? this.#fail(misfit(error)) : error;
    }
  }

  protected override async propose(proposal: ProposeActionRequest): Promise<string> {
    const { operation: name, key, scope } = proposal;
    await this.#doubts({ kind: "approval", name, key, scope });
    return this.#judged(super.propose(proposal));
  }

  protected override async sendChild(item: ChildItem): Promise<ItemAnswer> {
    const { name, key } = item;
    await this.#doubts({ kind: "child", name, key });
    return this.#judgedAnswer(await super.sendChild(item));
  }

  protected override async sendToRun(item: ObligationItem): Promise<ItemAnswer> {
    const { name, key } = item;
    await this.#doubts({ kind: "order", name, key });
    return this.#judgedAnswer(await super.sendToRun(item));
  }

  #judgedAnswer(answer: ItemAnswer): ItemAnswer {
    const { rejection } = answer;
    if (rejection?.reason !== "PAWL_FINGERPRINT_CONFLICT") return answer;
    throw this.#fail(misfit(new PawlError(rejection.reason, rejection.message)));
  }

  protected override waitFor<T>(
    make: () => WaitCall,
    read: (outcome: WaitOutcome) => T | Promise<T>,
  ): Promise<T> {
    const noted = (): WaitCall => {
      const call = make();
      // It is recorded under the names around it.
      const { name, key } = scopedCall(this, call);
      void this.#doubts({ kind: "wait", name, key })?.catch(() => undefined);
      return call;
    };
    const judged = (outcome: WaitOutcome): Promise<T> =>
      this.#judged((async () => read(outcome))());
    return super.waitFor(noted, judged);
  }

  protected override doubtsCall(name: string): Promise<void> | undefined {
    return this.#doubts({ kind: "call", name, key: undefined });
  }

  protected override makeStep<T>(step: StepToMake): Promise<T> {
    if (!this.#recorded.hasLeft && this.undoing === undefined) return super.makeStep(step);
    const { first, second } = step;
    const run = typeof first === "function" ? first : second;
    const options = typeof first === "function" ? {} : first;
    const name = scopedName(scopeOf(this), step.name);
    const doubt = this.#doubts({ kind: "step", name, key: options.key });
    if (doubt === undefined || run === undefined) return super.makeStep(step);
    doubt.catch(() => undefined);
    const doubted = async (scope: StepScope): Promise<unknown> => {
      await doubt;
      return run(scope);
    };
    return super.makeStep({ ...step, first: options, second: doubted });
  }
}

/** True for what others can see. */
function actsOutside({ kind }: Identity): boolean {
  return kind !== "step" && kind !== "wait";
}

/** A version that was answered with false. */
interface OldVersion {
  readonly id: string;
  /** As its step is recorded. */
  readonly name: string;
  readonly key: string | undefined;
}

function oldVersions(steps: readonly StepRecord[]): OldVersion[] {
  return steps.flatMap(({ name, key, value }) => {
    const [, id] = /(?:^|\/)\$version(?:\/|%2F)(.*)$/s.exec(name) ?? [];
    const isOld = id !== undefined && decodePayload(value, "a version") === false;
    return isOld ? [{ id, name, key }] : [];
  });
}

/** Lets the code do all that it can do without being given anything. */
function rest(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}
