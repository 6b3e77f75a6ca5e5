import { type MessageShape, toBinary } from "@bufbuild/protobuf";
import type {
  DecideProposalRequestSchema,
  ProposeActionRequestSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import type { Guard, ProposalDisplay } from "@pawl/proto/v1/proposal_pb.js";
import type { ProposalDisplayShape } from "@pawl/proto/v1/proposal_wire.js";
import type { OperationLease, ProposeAction, ProposedGuard } from "../../core/command.js";
import { computeFingerprint } from "../../core/identity/fingerprint.js";
import { limits } from "../../core/limits.js";
import { defaultDeciders } from "../../core/proposals.js";
import { sha256 } from "../../log/sha256.js";
import { contentOfOperation } from "../content.js";
import type { JsonDigest } from "../digest/json-digest.js";
import { badField } from "../refusals.js";
import {
  readDurationMs,
  requireId,
  requireKnown,
  requireNumber,
  requirePresent,
  requireText,
} from "../validate/fields.js";
import { parseProposalId } from "../views/proposal-id.js";

type ProposeActionRequest = MessageShape<typeof ProposeActionRequestSchema>;

/** What a proposal is made of besides its request. */
export interface ProposalParts {
  readonly namespace: string;
  /** Undefined in scope NAMESPACE. */
  readonly lease: OperationLease | undefined;
  /** The `json` digest of the content when it was computed elsewhere. */
  readonly digest: JsonDigest | undefined;
}

/** The content of a proposal, encoded. @throws RejectionError PAWL_INVALID_FIELD when there is none. */
export function payloadOfProposal({ payload }: ProposeActionRequest): Uint8Array {
  return toBinary(PayloadSchema, requirePresent(payload, "payload"));
}

/**
 * The command of a proposal, checked. Its fingerprint is computed as its operation's is: name, target and content.
 *
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function proposeCommand(request: ProposeActionRequest, parts: ProposalParts): ProposeAction {
  const { operation: name, key, target } = request;
  const scope = scopeOf(request);
  requireId("operation", name, "operation");
  if (key !== undefined) {
    requireId("discriminator", key, "key");
  } else if (scope === OperationScope.NAMESPACE) {
    throw badField("key", "set in scope NAMESPACE", "absent");
  }
  requireId("target", target, "target");
  const payload = payloadOfProposal(request);
  const content = contentOfOperation(payload, "payload", parts.digest);
  return {
    kind: "ProposeAction",
    namespace: parts.namespace,
    lease: parts.lease,
    ...{ name, scope, key, target, payload },
    fingerprint: computeFingerprint({ kind: "operation", name, target, content }, sha256),
    from: readDeciders(request.from),
    need: readNeed(request.need),
    requesterMayDecide: request.requesterMayDecide,
    expiresInMs: readExpiry(request),
    guards: readGuards(request.guards, scope),
    display: readDisplay(request.display),
    ...readRevised(request.revises),
  };
}

const revisesNone: Pick<ProposeAction, "revises" | "revisesOf"> = {
  revises: undefined,
  revisesOf: undefined,
};

function readRevised(proposalId: string): Pick<ProposeAction, "revises" | "revisesOf"> {
  if (proposalId === "") {
    return revisesNone;
  }
  const { runNumber, proposal } = parseProposalId(proposalId, "revises");
  return { revises: proposal, revisesOf: runNumber };
}

/** Scope of a proposed operation. @throws RejectionError PAWL_INVALID_FIELD for an unknown one. */
export function scopeOf({ scope }: ProposeActionRequest): OperationScope {
  requireKnown(scope, "scope", OperationScope);
  return scope === OperationScope.UNSPECIFIED ? OperationScope.TASK : scope;
}

function readNeed(need: number): number {
  if (need === 0) {
    return 1;
  }
  requireNumber(need, "need", { min: 1, max: limits.approvalsNeedMax });
  return need;
}

function readExpiry({ expiresIn }: ProposeActionRequest): number {
  if (expiresIn === undefined) {
    return limits.proposalMsDefault;
  }
  const ms = readDurationMs(expiresIn, "expires_in", limits.timeoutMsMax);
  requireNumber(ms, "expires_in", { min: 1, max: limits.timeoutMsMax });
  return ms;
}

/** Who may decide, checked. Empty: whoever has the role `approver`. */
function readDeciders(from: readonly string[]): readonly string[] {
  if (from.length > limits.deciderNamesMax) {
    throw badField("from", `at most ${limits.deciderNamesMax} items`, `${from.length}`);
  }
  for (const [index, name] of from.entries()) {
    requireDecider(name, `from[${index}]`);
  }
  return from.length === 0 ? defaultDeciders : [...new Set(from)];
}

/** A principal or role that may decide: `user:NAME` or `role:NAME`. */
export function requireDecider(name: string, field: string): void {
  const isNamed = /^(?:user|role):[^\0]+$/su.test(name);
  if (!isNamed) {
    throw badField(field, "user:NAME or role:NAME", "something else");
  }
  requireText(name, field, { min: 1, max: limits.idBytesMax });
}

function readGuards(guards: readonly Guard[], scope: OperationScope): readonly ProposedGuard[] {
  if (guards.length > limits.guardsMax) {
    throw badField("guards", `at most ${limits.guardsMax} items`, `${guards.length}`);
  }
  const names = new Set<string>();
  return guards.map((guard, index) => {
    const field = `guards[${index}]`;
    requireText(guard.name, `${field}.name`, { min: 1, max: limits.idBytesMax });
    if (names.has(guard.name)) {
      throw badField(`${field}.name`, "unique among the guards", "one that came before");
    }
    names.add(guard.name);
    return readGuard(guard, field, scope);
  });
}

function readGuard({ name, held }: Guard, field: string, scope: OperationScope): ProposedGuard {
  if (held.case === "value") {
    requireText(held.value, `${field}.value`, { min: 1, max: limits.guardValueBytesMax });
    return { name, value: held.value };
  }
  if (held.case !== "observation") {
    throw badField(`${field}.held`, "one of value, observation", "absent");
  }
  const at = `${field}.observation`;
  if (scope === OperationScope.NAMESPACE) {
    throw badField(at, "absent in scope NAMESPACE, which has no recorded reads", "set");
  }
  const { step, key, maxAge } = held.value;
  requireId("step", step, `${at}.step`);
  if (key !== undefined) {
    requireId("discriminator", key, `${at}.key`);
  }
  const maxAgeMs = readDurationMs(
    requirePresent(maxAge, `${at}.max_age`),
    `${at}.max_age`,
    limits.timeoutMsMax,
  );
  requireNumber(maxAgeMs, `${at}.max_age`, { min: 1, max: limits.timeoutMsMax });
  return { name, step, key, maxAgeMs };
}

function readDisplay(display: ProposalDisplay | undefined): ProposalDisplayShape | undefined {
  if (display === undefined) {
    return undefined;
  }
  const { title, note, fields } = display;
  requireText(title, "display.title", { min: 0, max: limits.displayTitleBytesMax });
  requireText(note, "display.note", { min: 0, max: limits.displayNoteBytesMax });
  if (fields.length > limits.displayFieldsMax) {
    throw badField(
      "display.fields",
      `at most ${limits.displayFieldsMax} items`,
      `${fields.length}`,
    );
  }
  return {
    title,
    note,
    fields: fields.map(({ label, value }, index) => {
      const field = `display.fields[${index}]`;
      requireText(label, `${field}.label`, { min: 1, max: limits.idBytesMax });
      requireText(value, `${field}.value`, { min: 0, max: limits.reasonBytesMax });
      return { label, value };
    }),
  };
}

/** A decision's request. */
export type DecideProposalRequest = MessageShape<typeof DecideProposalRequestSchema>;
