import type { Call, CancelCallOptions } from "../../cancel-mode.js";
import { LeftResult } from "../left-result.js";
import type { Mark } from "./marks.js";

/** What a handle needs of the function that called. */
export interface CallHandleParts<Output> {
  /** Name of the called task. */
  readonly name: string;
  /** The call, which waits for its end. */
  readonly begun: Promise<Output>;
  /** The call is on its way. */
  readonly sent: Promise<void>;
  /** Notes a promise as one of the call. */
  readonly also: (promise: Promise<Output>) => Promise<Output>;
  readonly mark: Mark;
  /** True when the code goes no further. */
  readonly isForgotten: () => boolean;
  /** Throws when a call may not begin. */
  readonly assertMayBegin: (what: string) => void;
  /** Nobody waits for its end any more. */
  readonly forget: () => void;
  /** Tells the kernel. */
  readonly tell: (how: Required<CancelCallOptions>) => void;
}

/** What a call is to the code that made it. */
export function callHandle<Output>(parts: CallHandleParts<Output>): Call<Output> {
  const { name, begun, sent } = parts;
  const left = new LeftResult<Output>(name, () => begun);
  return {
    task: name,
    result: () => parts.also(left.get()),
    cancel: (options = {}) => {
      if (parts.isForgotten()) return;
      parts.assertMayBegin(`cancellation of call "${name}"`);
      const how = left.cancel(options, () => {
        parts.mark.isLost = true;
        void sent.then(parts.forget);
      });
      if (how !== undefined) void sent.then(() => parts.tell(how));
    },
  };
}
