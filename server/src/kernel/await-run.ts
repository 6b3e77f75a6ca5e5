import type { Run } from "../core/state.js";
import { isRunOpen } from "../core/transitions.js";
import type { Loop } from "./loop.js";
import { type ReplyTo, refuseDeleted, type Target, unavailable } from "./outcome.js";

/** See `KernelApi.awaitRun`. */
export function awaitRun(loop: Loop, target: Target, to: ReplyTo): { cancel(): void } {
  const { waiters } = loop;
  const waiter = { receiver: to.receiver, tag: to.tag };
  return awaitWith(loop, target, to, {
    isThere: (run) => !isRunOpen(run.status),
    begin: (number) => waiters.add(number, waiter),
    end: (number) => waiters.remove(number, waiter),
  });
}

/** See `KernelApi.awaitThere`. */
export function awaitThere(
  loop: Loop,
  target: Target,
  isThere: (run: Run) => boolean,
  to: ReplyTo,
): { cancel(): void } {
  const { lookers } = loop;
  const looker = { receiver: to.receiver, tag: to.tag, isThere };
  return awaitWith(loop, target, to, {
    isThere,
    begin: (number) => lookers.add(number, looker),
    end: (number) => lookers.remove(number, looker),
  });
}

/** How something of a run is waited for. */
interface Awaiting {
  /** True when it is there already. */
  readonly isThere: (run: Run) => boolean;
  /** Begins to wait. */
  readonly begin: (runNumber: number) => void;
  /** Waits no more. */
  readonly end: (runNumber: number) => void;
}

function awaitWith(
  loop: Loop,
  target: Target,
  to: ReplyTo,
  awaiting: Awaiting,
): { cancel(): void } {
  const { promises } = loop;
  let cancelled = false;
  let waitsFor: number | undefined;
  const begin = (): void => {
    if (cancelled) {
      return;
    }
    const { failure } = loop;
    if (failure !== undefined) {
      loop.refuse(to, unavailable(failure));
      return;
    }
    const found = loop.findOrRefuse(target, to, begin);
    if (found === "later") {
      return;
    }
    if (found === undefined) {
      loop.answer(to.receiver, to.tag, {
        accepted: false,
        rejection: loop.absent(target),
      });
    } else if (found.run.deletion !== undefined) {
      loop.answer(to.receiver, to.tag, { accepted: false, rejection: refuseDeleted(found.run) });
    } else if (!awaiting.isThere(found.run)) {
      waitsFor = found.number;
      awaiting.begin(found.number);
    } else {
      const { run, number: runNumber } = found;
      loop.answer(to.receiver, to.tag, {
        accepted: true,
        reply: { existing: true },
        run,
        runNumber,
      });
    }
  };
  begin();
  return {
    cancel: () => {
      cancelled = true;
      promises.forget(to.receiver === promises ? to.tag : -1);
      if (waitsFor !== undefined) {
        awaiting.end(waitsFor);
      }
    },
  };
}
