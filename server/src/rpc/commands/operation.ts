import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type {
  ObservationShape,
  OperationRequestShape,
  ReconciliationShape,
} from "@pawl/proto/v1/operation_wire.js";
import type {
  Finding,
  GuardNow,
  IntendOperation,
  ObservedOutcome,
  OperationLease,
} from "../../core/command.js";
import { computeFingerprint } from "../../core/identity/fingerprint.js";
import { buildOperationKey, OPERATION_KEY_LENGTH_MAX } from "../../core/identity/operation-key.js";
import { limits } from "../../core/limits.js";
import type { Target } from "../../kernel/outcome.js";
import { sha256 } from "../../log/sha256.js";
import { contentOfOperation } from "../content.js";
import type { JsonDigest } from "../digest/json-digest.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireFailure } from "../validate/failure.js";
import {
  requireId,
  requireIntentId,
  requireKnown,
  requireNumber,
  requirePresent,
  requireText,
} from "../validate/fields.js";
import { parseProposalId } from "../views/proposal-id.js";

/** What an intent is made of. */
export interface IntentParts {
  readonly namespace: string;
  readonly intentId: string;
  readonly operation: OperationRequestShape | undefined;
  readonly seenThrough: number;
  /** Undefined in scope NAMESPACE. */
  readonly lease: OperationLease | undefined;
  /** Whether the lease stays when a person must decide. Default false. */
  readonly keepsLease?: boolean;
  /** The `json` digest of the content when it was computed elsewhere. */
  readonly digest?: JsonDigest | undefined;
  /** The content as it is to be recorded, when it is a reference. */
  readonly admitted?: Uint8Array | undefined;
}

/**
 * The command of one intent, checked; its fingerprint covers name, target and content. An unknown sink kind is refused rather
 * than read as another one.
 *
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function intentCommand(parts: IntentParts): IntendOperation {
  requireIntentId(parts.intentId, "intent_id");
  const operation = requirePresent(parts.operation, "operation");
  const { name, key, target } = operation;
  requireId("operation", name, "operation.name");
  requireKnown(operation.scope, "operation.scope", OperationScope);
  const scope =
    operation.scope === OperationScope.UNSPECIFIED ? OperationScope.TASK : operation.scope;
  if (key !== undefined) {
    requireId("discriminator", key, "operation.key");
  } else if (scope === OperationScope.NAMESPACE) {
    throw badField("operation.key", "set in scope NAMESPACE", "absent");
  }
  requireId("target", target, "operation.target");
  const payload = requirePresent(operation.payload, "operation.payload");
  const content = contentOfOperation(payload, "operation.payload", parts.digest);
  return {
    kind: "IntendOperation",
    namespace: parts.namespace,
    lease: scope === OperationScope.NAMESPACE ? undefined : parts.lease,
    intentId: parts.intentId,
    name,
    scope,
    key,
    target,
    payload: parts.admitted ?? payload,
    fingerprint: computeFingerprint({ kind: "operation", name, target, content }, sha256),
    ...sinkOf(operation),
    callTimeoutMs: callTimeoutOf(operation),
    seenThrough: parts.seenThrough,
    rollback: operation.rollback,
    ...(parts.keepsLease === true ? { keepsLease: true } : {}),
    ...readProposal(operation.proposalId, "operation.proposal_id"),
    guards: readGuardValues(operation.guards),
  };
}

const noProposal: Pick<IntendOperation, "proposal" | "proposalOf"> = {
  proposal: undefined,
  proposalOf: undefined,
};

function readProposal(
  proposalId: string,
  field: string,
): Pick<IntendOperation, "proposal" | "proposalOf"> {
  if (proposalId === "") {
    return noProposal;
  }
  const { runNumber, proposal } = parseProposalId(proposalId, field);
  return { proposal, proposalOf: runNumber };
}

const noGuards: readonly GuardNow[] = [];

function readGuardValues(guards: readonly GuardNow[]): readonly GuardNow[] {
  if (guards.length === 0) {
    return noGuards;
  }
  if (guards.length > limits.guardsMax) {
    throw badField("operation.guards", `at most ${limits.guardsMax} items`, `${guards.length}`);
  }
  for (const [index, { name, value }] of guards.entries()) {
    requireText(name, `operation.guards[${index}].name`, { min: 1, max: limits.idBytesMax });
    const bounds = { min: 1, max: limits.guardValueBytesMax };
    requireText(value, `operation.guards[${index}].value`, bounds);
  }
  return guards;
}

function sinkOf(
  operation: OperationRequestShape,
): Pick<IntendOperation, "sinkKind" | "keyWindowMs" | "settleMs"> {
  const kind = operation.sink?.kind ?? SinkKind.UNSPECIFIED;
  requireKnown(kind, "operation.sink.kind", SinkKind);
  const keyWindowMs = Number(operation.sink?.keyWindowMs ?? 0n);
  if (kind === SinkKind.IDEMPOTENT) {
    requireNumber(keyWindowMs, "operation.sink.key_window_ms", {
      min: 1,
      max: limits.timeoutMsMax,
    });
  }
  const settleMs = operation.sink?.settleMs ?? limits.settleMsDefault;
  requireNumber(settleMs, "operation.sink.settle_ms", { min: 0, max: limits.settleMsMax });
  return {
    sinkKind: kind === SinkKind.UNSPECIFIED ? SinkKind.OPAQUE : kind,
    keyWindowMs,
    settleMs,
  };
}

function callTimeoutOf({ callTimeoutMs }: OperationRequestShape): number {
  if (callTimeoutMs === 0) {
    return limits.callTimeoutMsDefault;
  }
  requireNumber(callTimeoutMs, "operation.call_timeout_ms", {
    min: 1,
    max: limits.callTimeoutMsMax,
  });
  return callTimeoutMs;
}

/** The aggregate that an intent or a proposal changes: its run, or in scope NAMESPACE the operation itself. */
export function targetOfIntent(
  command: Pick<IntendOperation, "scope" | "namespace" | "name" | "key">,
  run: Target,
): Target {
  if (command.scope !== OperationScope.NAMESPACE) {
    return run;
  }
  const identity = {
    scope: "namespace",
    namespace: command.namespace,
    operation: command.name,
    discriminator: command.key ?? "",
  } as const;
  return {
    kind: "ledger",
    namespace: command.namespace,
    operationKey: buildOperationKey(identity, sha256).key,
  };
}

/** Begins every key of scope NAMESPACE: the first field of a key is its scope. */
const namespaceScope = "namespace/";

/** The aggregate that holds an operation key, given the run of a key that belongs to one. */
export function targetOfKey(operationKey: string, namespace: string, run: Target): Target {
  return operationKey.startsWith(namespaceScope)
    ? { kind: "ledger", namespace, operationKey }
    : run;
}

/** An operation key, as the kernel made it. */
export function requireOperationKey(value: string, field: string): void {
  requireText(value, field, { min: 1, max: OPERATION_KEY_LENGTH_MAX });
}

/** How a call ended, checked. `admitted`: the result as it is to be recorded, when it is a reference. */
export function observedOutcome(
  observation: ObservationShape | undefined,
  admitted: Uint8Array | undefined = undefined,
): ObservedOutcome {
  const outcome = observation?.outcome;
  switch (outcome?.case) {
    case "result":
      if (admitted === undefined) {
        scanPayload(outcome.value, "observation.result");
      }
      return { case: "result", value: admitted ?? outcome.value };
    case "refused":
      requireFailure(outcome.value, "observation.refused");
      return { case: "refused", value: outcome.value };
    case "notSent":
      requireFailure(outcome.value, "observation.not_sent");
      return { case: "notSent", value: outcome.value };
    case "unknown":
      requireFailure(outcome.value, "observation.unknown");
      return { case: "unknown", value: outcome.value };
    default:
      throw badField("observation.outcome", "one of result, refused, not_sent, unknown", "absent");
  }
}

/** What a look-up found, checked. `admitted`: the result as it is to be recorded, when it is a reference. */
export function findingOf(
  reconciliation: ReconciliationShape | undefined,
  admitted: Uint8Array | undefined = undefined,
): Finding {
  const finding = reconciliation?.finding;
  switch (finding?.case) {
    case "found":
      if (admitted === undefined) {
        scanPayload(finding.value, "reconciliation.found");
      }
      return { case: "found", value: admitted ?? finding.value };
    case "absent":
      return { case: "absent" };
    case "unknown":
      requireFailure(finding.value, "reconciliation.unknown");
      return { case: "unknown", value: finding.value };
    default:
      throw badField("reconciliation.finding", "one of found, absent, unknown", "absent");
  }
}
