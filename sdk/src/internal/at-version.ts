import { create } from "@bufbuild/protobuf";
import { type VersionChoice, VersionChoiceSchema, VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import type { Startable } from "../connect.js";
import { DefinitionInvalid } from "../errors.js";
import type { TaskRef } from "../task.js";
import type { RunVersion } from "../versions.js";

/** The greatest version of a workflow. */
const VERSION_MAX = 1_000_000;

/** What a start goes by. */
export interface AtVersion {
  /** The definition, of the kind that the start names. The same object for the same definition and version. */
  readonly definition: Startable;
  /** What the start asks of the current version. Absent: nothing. */
  readonly choice?: VersionChoice;
}

/** Derived definitions by their kind, so that their plans are made once. */
const derived = new WeakMap<TaskRef, Map<string, TaskRef>>();

/**
 * A definition at the version that a start says.
 *
 * @param version Absent: the one of the definition.
 * @throws DefinitionInvalid when it has no versions, or the version is none.
 */
export function atVersion(definition: Startable, version: RunVersion | undefined): AtVersion {
  if (version === undefined) return { definition };
  if (!isVersioned(definition)) {
    throw new DefinitionInvalid(
      `Expected what is started with a version to be a workflow, but "${definition.name}" is a ${definition.type} without versions. Leave the version out.`,
    );
  }
  if (version === "current" || version === "follow") {
    return { definition: ofKind(definition, "current"), choice: choiceOf(version, 0) };
  }
  if (!Number.isInteger(version) || version < 1 || version > VERSION_MAX) {
    throw new DefinitionInvalid(
      `Expected the version of workflow "${definition.name}" to be "current", "follow" or a whole number from 1 to 1,000,000, but it is ${String(version)}.`,
    );
  }
  return { definition: ofKind(definition, version) };
}

/**
 * A child's definition at the version that its start says, or that it inherits. A child of a run that follows follows too, and while nothing of it is current takes the
 * version of its definition. A child of the workflow of the run itself goes by the version that runs, and any other by its definition.
 *
 * @throws DefinitionInvalid
 */
export function childAtVersion(
  definition: Startable,
  version: RunVersion | undefined,
  { workflow, kind, codeVersion }: Pick<Offer, "workflow" | "kind" | "codeVersion">,
): AtVersion {
  if (version !== undefined || !isVersioned(definition)) return atVersion(definition, version);
  const own = definition.name === workflow ? versionIn(kind, workflow) : undefined;
  const orElse = own ?? versionIn(definition.kind, definition.name) ?? 0;
  if (codeVersion?.mode === VersionMode.FOLLOW) {
    return { definition: ofKind(definition, "current"), choice: choiceOf("follow", orElse) };
  }
  return own === undefined ? { definition } : { definition: ofKind(definition, own) };
}

type Versioned = TaskRef & { readonly kind: string };

function isVersioned(definition: Startable): definition is Versioned {
  return (
    definition.type === "task" &&
    definition.kind !== undefined &&
    definition.kind.startsWith(`${definition.name}@`)
  );
}

function versionIn(kind: string, workflow: string): number | undefined {
  if (!kind.startsWith(`${workflow}@`)) return undefined;
  const version = Number(kind.slice(workflow.length + 1));
  return Number.isInteger(version) && version > 0 ? version : undefined;
}

function choiceOf(mode: "current" | "follow", orElse: number): VersionChoice {
  const { PINNED, FOLLOW } = VersionMode;
  return create(VersionChoiceSchema, { mode: mode === "follow" ? FOLLOW : PINNED, orElse });
}

function ofKind(definition: Versioned, version: number | "current"): TaskRef {
  const kind = `${definition.name}@${version}`;
  if (kind === definition.kind) return definition;
  let ofDefinition = derived.get(definition);
  if (ofDefinition === undefined) {
    ofDefinition = new Map();
    derived.set(definition, ofDefinition);
  }
  let found = ofDefinition.get(kind);
  if (found === undefined) {
    found = { ...definition, kind };
    ofDefinition.set(kind, found);
  }
  return found;
}
