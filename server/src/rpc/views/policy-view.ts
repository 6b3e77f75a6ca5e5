import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  OnExhausted,
  type RetryPolicySchema,
  type TaskTimeoutsSchema,
} from "@pawl/proto/v1/plan_pb.js";
import type { TaskSpec } from "../../core/plan/task-spec.js";

/** What counts for a task now, as a plan would say it with nothing left to defaults. */
export interface PolicyView {
  readonly retry: MessageInitShape<typeof RetryPolicySchema>;
  readonly timeouts: MessageInitShape<typeof TaskTimeoutsSchema>;
}

/** The retry policy and the timeouts of a task's specification. */
export function policyView(spec: TaskSpec): PolicyView {
  const { retry, scheduleToStartMs, startToCloseMs, scheduleToCloseMs, leaseMs } = spec;
  return {
    retry: {
      attemptsMax: retry.attemptsMax,
      initialInterval: durationFromMs(retry.initialMs),
      backoffCoefficient: retry.coefficient,
      intervalMax: durationFromMs(retry.intervalMsMax),
      nonRetryable: [...retry.nonRetryable],
      jitter: retry.jitter,
      onExhausted: retry.asksWhenExhausted ? OnExhausted.ASK : OnExhausted.FAIL,
      workerLossesMax: retry.workerLossesMax,
    },
    timeouts: {
      ...(scheduleToStartMs === undefined
        ? {}
        : { scheduleToStart: durationFromMs(scheduleToStartMs) }),
      ...(startToCloseMs === undefined ? {} : { startToClose: durationFromMs(startToCloseMs) }),
      ...(scheduleToCloseMs === undefined
        ? {}
        : { scheduleToClose: durationFromMs(scheduleToCloseMs) }),
      lease: durationFromMs(leaseMs),
    },
  };
}
