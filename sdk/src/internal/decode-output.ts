import type { DependencyOutput } from "@pawl/proto/v1/worker_service_pb.js";
import { decodePayload } from "./codec.js";

/** What a task that another one needed gave. */
export function decodeOutput(dependency: DependencyOutput): unknown {
  return decodePayload(dependency.output, `the output of task "${dependency.task}"`);
}
