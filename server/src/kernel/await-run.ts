import { isRunOpen } from "../core/transitions.js";
import type { Loop } from "./loop.js";
import { type ReplyTo, type Target, targetNotFound, unavailable } from "./outcome.js";

/** See `KernelApi.awaitRun`. */
export function awaitRun(loop: Loop, target: Target, to: ReplyTo): { cancel(): void } {
  const { waiters, promises } = loop;
  const waiter = { receiver: to.receiver, tag: to.tag };
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
        rejection: targetNotFound(target),
      });
    } else if (isRunOpen(found.run.status)) {
      waitsFor = found.number;
      waiters.add(found.number, waiter);
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
        waiters.remove(waitsFor, waiter);
      }
    },
  };
}
