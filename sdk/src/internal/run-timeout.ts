import { create } from "@bufbuild/protobuf";
import { DurationSchema, type Duration as ProtoDuration } from "@bufbuild/protobuf/wkt";
import type { Startable } from "../connect.js";
import type { Duration } from "../duration.js";
import { DefinitionInvalid } from "../errors.js";
import { parseDuration, toProtoDuration } from "./duration-ms.js";

/**
 * How long a run may take: what its start says, else what its workflow says; undefined: for ever.
 *
 * @throws DefinitionInvalid when it is ill-formed, or no time at all.
 */
export function runTimeoutOf(
  definition: Startable,
  given: Duration | undefined,
): ProtoDuration | undefined {
  const duration = given ?? (definition.type === "task" ? definition.runTimeout : undefined);
  return duration === undefined ? undefined : readRunTimeout(duration);
}

/** @throws DefinitionInvalid */
export function readRunTimeout(duration: Duration): ProtoDuration {
  const ms = parseDuration(duration, "runTimeout");
  if (ms === 0) {
    throw new DefinitionInvalid(
      "Expected runTimeout to be at least 1ms, but it is 0: the run would have failed before it began. Leave it out when nothing bounds the run.",
    );
  }
  return create(DurationSchema, toProtoDuration(ms));
}
