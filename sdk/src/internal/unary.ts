import type { CallOptions } from "@connectrpc/connect";
import { Unavailable } from "../errors.js";
import { Backoff } from "./backoff.js";
import type { ConnectionMonitor } from "./monitor.js";
import { asError, monotonicMs, wait } from "./time.js";
import { readCallFailure } from "./transport-error.js";

/** Every single call has a deadline, in ms; the kernel's own waits are shorter. */
const CALL_MS = 15_000;

/** How a unary call is made. */
export interface UnaryOptions {
  /** Where the kernel is, for messages. */
  readonly url: string;
  readonly monitor: ConnectionMonitor;
  /** Ends it, with its reason. */
  readonly signal: AbortSignal;
  /** Gives up after this many ms of a kernel that is away. Default 30,000. Infinity: never. */
  readonly patienceMs?: number;
  /** Deadline of one call, in ms, when it is not the usual one. */
  readonly callMs?: number;
}

/**
 * Makes a call, and again while the kernel is away: each method of the API may be sent again, since its request has an
 * identity of its own.
 *
 * @throws PawlError Why it was refused; Unavailable when patience ran out; the signal's reason.
 */
export async function callUnary<Answer>(
  call: (options: CallOptions) => Promise<Answer>,
  options: UnaryOptions,
): Promise<Answer> {
  const { monitor, signal, patienceMs = 30_000, callMs = CALL_MS } = options;
  const backoff = new Backoff({ initialMs: 50, maxMs: 2_000 });
  const giveUpAtMs = monotonicMs() + patienceMs;
  for (;;) {
    signal.throwIfAborted();
    try {
      const answer = await call({ signal, timeoutMs: callMs });
      monitor.connected();
      return answer;
    } catch (cause) {
      const error = signal.aborted ? asError(signal.reason) : judge(cause, options);
      const delayMs = backoff.nextMs();
      if (error !== undefined || monotonicMs() + delayMs > giveUpAtMs) {
        throw error ?? readCallFailure(cause, options.url).error;
      }
      await wait(delayMs, signal);
    }
  }
}

/** The error that ends the call; undefined when it should be made again. */
function judge(cause: unknown, { url, monitor }: UnaryOptions): Error | undefined {
  const failure = readCallFailure(cause, url);
  if (failure.error instanceof Unavailable) {
    monitor.failed(failure.error);
  }
  const isForGood = failure.isForeign && !monitor.wasConnected;
  return failure.isTransient && !isForGood ? undefined : failure.error;
}
