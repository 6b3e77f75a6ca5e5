import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { CodeVersionShape, VersionChoiceShape } from "@pawl/proto/v1/version_wire.js";
import type { StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { planAt } from "../plan/code-version.js";
import type { Rejection } from "../rejection.js";

/** What asks for the current version of its workflow. */
interface Asking {
  readonly namespace: string;
  readonly workflow: string;
  readonly choice: VersionChoiceShape;
  /** The plan as received. */
  readonly plan: Uint8Array;
}

/** The version that was chosen. */
export interface ChosenVersion {
  /** The plan at that version; as received for what follows. */
  readonly plan: Uint8Array;
  readonly codeVersion: CodeVersionShape;
}

/**
 * The version that is current now, for a start that asks for it. What follows has none of its own. While none is current it is the one
 * that the start names for that case, which it keeps, or a refusal.
 */
export function chooseVersion(asking: Asking, ctx: DecideContext): ChosenVersion | Rejection {
  const { namespace, workflow, choice, plan } = asking;
  const current = ctx.currentVersion(namespace, workflow);
  if (current !== 0 && choice.mode === VersionMode.FOLLOW) {
    return { plan, codeVersion: { version: 0, mode: VersionMode.FOLLOW } };
  }
  const version = current === 0 ? choice.orElse : current;
  return version === 0
    ? noCurrentVersion(workflow)
    : {
        plan: planAt(plan, workflow, version),
        codeVersion: { version, mode: VersionMode.PINNED },
      };
}

/** What a start begins with; both are undefined when its plan says all. */
export interface StartVersion {
  /** The plan at the chosen version. */
  readonly plan: Uint8Array | undefined;
  readonly codeVersion: CodeVersionShape | undefined;
}

/** Shared by all starts that name their version. */
const asPlanned: StartVersion = { plan: undefined, codeVersion: undefined };

/** The version of a start, or why it is refused. */
export function versionOf(command: StartRun, ctx: DecideContext): StartVersion | Rejection {
  const { versionChoice: choice, codeVersion, namespace, workflow } = command;
  if (choice !== undefined) {
    return chooseVersion({ namespace, workflow, choice, plan: command.plan.bytes }, ctx);
  }
  return codeVersion === undefined ? asPlanned : { plan: undefined, codeVersion };
}

/** The refusal of a start that asks for the current version while none is set. */
export function noCurrentVersion(workflow: string): Rejection {
  return {
    reason: "PAWL_NO_CURRENT_VERSION",
    message:
      `Expected workflow "${workflow}" to have a current version, since the start asks for it, but none is set. ` +
      `Next: set it (pawl version set ${workflow} VERSION), then send the start again; or name a version in the start.`,
    detail: { case: "notFound", value: { entity: "current version", id: workflow } },
  };
}
