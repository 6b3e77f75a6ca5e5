import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { VersionChoiceShape } from "@pawl/proto/v1/version_wire.js";
import { encodeUtf8 } from "../../core/identity/utf8.js";
import {
  codeVersionMax,
  currentKind,
  namesCurrent,
  versionedNameBytesMax,
} from "../../core/plan/code-version.js";
import type { CompiledPlan } from "../../core/plan/task-spec.js";
import { badField } from "../refusals.js";
import { requireKnown } from "./fields.js";

/**
 * What a start asks about its version, checked; undefined: nothing. Paths of fields are relative to the item.
 *
 * @throws RejectionError PAWL_INVALID_FIELD
 */
export function readVersionChoice(
  choice: VersionChoiceShape | undefined,
  workflow: string,
  plan: CompiledPlan,
): VersionChoiceShape | undefined {
  if (choice === undefined) {
    return undefined;
  }
  requireKnown(choice.mode, "version_choice.mode", VersionMode);
  if (choice.orElse > codeVersionMax) {
    throw badField("version_choice.or_else", `0 to ${codeVersionMax}`, `${choice.orElse}`);
  }
  requireVersioned(workflow);
  if (!namesCurrent(plan, workflow)) {
    throw badField(
      "plan.tasks",
      `a task of kind "${currentKind(workflow)}" in a start that asks for the current version`,
      "none",
    );
  }
  return choice;
}

/** The name of a workflow that has versions: its kinds must be ids. @throws RejectionError PAWL_INVALID_FIELD */
export function requireVersioned(workflow: string): void {
  const { length } = encodeUtf8(workflow);
  if (length > versionedNameBytesMax) {
    throw badField(
      "workflow",
      `at most ${versionedNameBytesMax} bytes with its versions`,
      `${length} bytes`,
    );
  }
}
