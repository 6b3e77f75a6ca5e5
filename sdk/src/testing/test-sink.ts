import { steeringTime } from "../internal/time.js";
import type { Lookup } from "../operation.js";
import { TestKitMisused } from "./errors.js";
import { OwnTime } from "./virtual-time.js";

/** What a call is told apart by. */
export interface SinkCall {
  /** The operation key, or any key that names the effect. */
  readonly key: string;
}

/** One effect that a sink has had. */
export interface SinkEffect {
  readonly key: string;
  /** How often it happened. More than once is what a durable workflow is there to prevent. */
  readonly times: number;
}

/** How a test sink behaves. */
export interface TestSinkOptions {
  /** Name, for reports. Default `sink`. */
  readonly name?: string;
  /** True: a call with a key that it has seen has no second effect and gets the first answer, as idempotent services do. Default false. */
  readonly honoursKeys?: boolean;
}

/** A service outside of the code under test. What it did stays done, whatever crashes. */
export interface TestSink {
  readonly name: string;
  /** Has the effect, and answers. For `call` of an operation, or for code that acts without one. */
  call<Answer>(call: SinkCall, answer: () => Answer): Answer;
  /** Says whether the effect of a key has happened, and what was answered. For `lookup` of an operation. */
  lookup<Answer = unknown>(call: SinkCall): Lookup<Answer>;
}

/** What the books of one sink hold. */
interface Entry {
  times: number;
  readonly answer: unknown;
}

/** The books of all sinks in one environment. */
export class SinkBooks {
  readonly #books = new Map<TestSink, Map<string, Entry>>();
  readonly #calls = new Map<string, number>();

  /** The books of a sink, begun when there are none. */
  of(sink: TestSink): Map<string, Entry> {
    let entries = this.#books.get(sink);
    if (entries === undefined) {
      entries = new Map();
      this.#books.set(sink, entries);
    }
    return entries;
  }

  /** A call of an operation has returned. One whose sink honours keys has one effect, however often it is called. */
  called(key: string, honoursKeys: boolean): void {
    const before = this.#calls.get(key) ?? 0;
    this.#calls.set(key, honoursKeys ? 1 : before + 1);
  }

  /** Effects of operations whose calls reached no test sink: each call that returned is one. */
  get calls(): SinkEffect[] {
    const counted = new Set([...this.#books.values()].flatMap((entries) => [...entries.keys()]));
    return [...this.#calls]
      .filter(([key]) => !counted.has(key))
      .map(([key, times]) => ({ key, times }));
  }

  /** What a sink did, in the order in which it first did it. */
  effects(sink: TestSink): SinkEffect[] {
    return [...this.of(sink)].map(([key, { times }]) => ({ key, times }));
  }

  /** All sinks that did something. */
  get sinks(): readonly TestSink[] {
    return [...this.#books.keys()];
  }
}

/**
 * Makes a service outside of the code under test, to count what reaches it. It may be made once for all tests: each environment has books of its own.
 *
 * @example
 * const bank = testSink();
 * const charge = operation("payments.charge", {
 *   payload: json<{ cents: number }>(),
 *   result: json<{ receipt: string }>(),
 *   sink: { kind: "reconcilable" },
 *   call: (op) => bank.call(op, () => ({ receipt: "r-1" })),
 *   lookup: (op) => bank.lookup(op),
 * });
 */
export function testSink({ name = "sink", honoursKeys = false }: TestSinkOptions = {}): TestSink {
  const sink: TestSink = {
    name,
    call<Answer>({ key }: SinkCall, answer: () => Answer): Answer {
      const books = presentBooks(name).of(sink);
      const entry = books.get(key);
      if (entry === undefined) {
        const given = answer();
        books.set(key, { times: 1, answer: given });
        return given;
      }
      if (!honoursKeys) entry.times++;
      return entry.answer as Answer;
    },
    lookup<Answer>({ key }: SinkCall): Lookup<Answer> {
      const entry = presentBooks(name).of(sink).get(key);
      return entry === undefined ? "absent" : { found: entry.answer as Answer };
    },
  };
  return sink;
}

function presentBooks(name: string): SinkBooks {
  const time = steeringTime();
  if (time instanceof OwnTime) return time.books;
  throw new TestKitMisused(
    `Expected test sink "${name}" to be called by code that runs in a test environment, but it is not. Serve the code with env.worker().`,
  );
}
