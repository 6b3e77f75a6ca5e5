import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { CodeVersionShape } from "@pawl/proto/v1/version_wire.js";
import { splitKind } from "../plan/code-version.js";
import type { Run } from "../state.js";

/** The version of its workflow's code that a run goes by, as people are told it; undefined when its plan names none. */
export function codeVersionOf(run: Run): CodeVersionShape | undefined {
  if (run.codeVersion !== undefined) {
    return run.codeVersion;
  }
  for (const { kind } of run.plan.tasks) {
    const named = splitKind(kind);
    if (named?.workflow === run.workflow) {
      return { version: named.codeVersion, mode: VersionMode.PINNED };
    }
  }
  return undefined;
}

/** The same in words: `version 3, pinned`. */
export function describeCodeVersion(run: Run): string {
  const found = codeVersionOf(run);
  if (found === undefined) {
    return "";
  }
  return found.mode === VersionMode.FOLLOW
    ? "the current version, which it follows"
    : `version ${found.version}, pinned`;
}
