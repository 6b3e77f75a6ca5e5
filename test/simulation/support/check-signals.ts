import type { WaitDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { textOf } from "./contents.js";
import type { ShadowLog, ShadowRun } from "./shadow-log.js";

interface Kept {
  readonly number: number;
  /** `signal` or `update`, and its name. */
  readonly name: string;
  readonly payload: string;
}

/**
 * Signals and updates by the events alone: each that came is taken once, the oldest of its name first, by a wait for that name; or it is still kept, with what it
 * brought, however often its run began once more. An update that nobody took ends with its run, not when that continues as new.
 */
export function checkSignals(shadow: ShadowLog, complain: (text: string) => void): void {
  for (const run of shadow.runs.values()) {
    const kept = keptOf(run, complain).map(
      ({ number, name, payload }) => `${number} ${name} ${payload}`,
    );
    const { signals } = run.state;
    const stored = signals
      .filter(({ takenBy }) => takenBy === undefined)
      .map(
        ({ number, name, payload, update }) =>
          `${number} ${kindOf(update)} ${name} ${textOf(payload)}`,
      );
    if (kept.join() !== stored.join()) {
      complain(
        `run ${run.number} keeps the signals ${stored}, but ${kept} came and were not taken`,
      );
    }
  }
}

function keptOf({ number, events }: ShadowRun, complain: (text: string) => void): Kept[] {
  const judge = new Judge((text) => complain(`run ${number} ${text}`));
  for (const { body, number: event } of events) {
    judge.hear(body, event);
  }
  return judge.kept;
}

function kindOf(isUpdate: boolean): string {
  return isUpdate ? "update" : "signal";
}

/** What a wait takes, as `Kept` names it; undefined: nothing that is sent. */
function waitedFor(subject: WaitDeclarationShape["subject"]): string | undefined {
  if (subject.case === "signal") return `signal ${subject.value.signal}`;
  return subject.case === "update" ? `update ${subject.value.update}` : undefined;
}

class Judge {
  readonly kept: Kept[] = [];
  readonly #complain: (text: string) => void;
  /** What each wait of the incarnation is for; undefined: for no signal. */
  #waits: (string | undefined)[] = [];
  #received = 0;
  /** What waits of the incarnation took, and by which events. */
  #taken: { readonly kept: Kept; readonly event: number }[] = [];

  constructor(complain: (text: string) => void) {
    this.#complain = complain;
  }

  hear(body: EventBody, event: number): void {
    switch (body.case) {
      case "signalReceived": {
        const { name, payload, update } = body.value;
        const named = `${kindOf(update)} ${name}`;
        this.kept.push({ number: this.#received, name: named, payload: textOf(payload) });
        this.#received++;
        break;
      }
      case "runContinued":
        this.#waits = []; // It was open all the time: updates that nobody took go over, too.
        this.#giveBack(body.value.seenThrough);
        break;
      case "runRestarted":
        this.#waits = [];
        this.#taken = [];
        this.kept.splice(
          0,
          Infinity,
          ...this.kept.filter(({ name }) => !name.startsWith("update ")),
        );
        break;
      case "taskSuspended":
      case "waitsOpened":
        for (const { subject } of body.value.opened) {
          this.#waits.push(waitedFor(subject));
        }
        break;
      case "waitEnded":
        if (body.value.outcome.case === "signalTaken") {
          this.#take(this.#waits[body.value.wait], body.value.outcome.value.signal, event);
        }
        break;
      default:
    }
  }

  /** What a wait took and the code had not been given goes over, too. */
  #giveBack(seenThrough: number | undefined): void {
    const unseen = this.#taken.filter(({ event }) => event > (seenThrough ?? event));
    this.kept.push(...unseen.map(({ kept }) => kept));
    this.kept.sort((one, other) => one.number - other.number);
    this.#taken = [];
  }

  #take(name: string | undefined, signal: number, event: number): void {
    const oldest = this.kept.findIndex((kept) => kept.name === name);
    if (this.kept[oldest]?.number !== signal) {
      this.#complain(`gave signal ${signal} away, but ${this.kept[oldest]?.number} was next`);
    }
    this.#taken.push(...this.kept.splice(oldest, 1).map((kept) => ({ kept, event })));
  }
}
