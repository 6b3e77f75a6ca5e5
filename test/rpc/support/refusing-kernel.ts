import type { Rejection } from "@pawl/server/core/rejection.js";
import type { KernelApi } from "@pawl/server/kernel/kernel-api.js";

/** A kernel that refuses every command with this rejection, and is otherwise the one that stands behind it. */
export function refusingKernel(kernel: KernelApi, rejection: Rejection): KernelApi {
  return override(kernel, {
    execute: (_target, _command, _principal, { receiver, tag }) => {
      receiver.outcome(tag, { accepted: false, rejection });
      receiver.prepare();
      receiver.release(new Uint8Array([1]));
    },
  });
}

/** A kernel with some of its calls replaced. */
export function override(kernel: KernelApi, calls: Partial<KernelApi>): KernelApi {
  return new Proxy(kernel, {
    get: (target, name) => {
      const replaced: unknown = Reflect.get(calls, name);
      const value: unknown = replaced ?? Reflect.get(target, name, target);
      return typeof value === "function" && replaced === undefined ? value.bind(target) : value;
    },
  });
}
