import { create } from "@bufbuild/protobuf";
import {
  type OperationRequest,
  OperationRequestSchema,
  OperationScope,
  SinkKind,
  SinkSchema,
} from "@pawl/proto/v1/operation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type { PerformOptions } from "../context.js";
import { DefinitionInvalid } from "../errors.js";
import type { Operation } from "../operation.js";
import { encodeResult } from "./codec.js";
import { checkId, checkTarget } from "./ids.js";
import { fromValid, validate } from "./validate.js";

const SINK_KINDS = {
  idempotent: SinkKind.IDEMPOTENT,
  reconcilable: SinkKind.RECONCILABLE,
  opaque: SinkKind.OPAQUE,
} as const;

const SCOPES = {
  task: OperationScope.TASK,
  run: OperationScope.RUN,
  namespace: OperationScope.NAMESPACE,
} as const;

/** The number of a scope in messages. */
export function scopeNumber(scope: NonNullable<PerformOptions["scope"]>): OperationScope {
  return SCOPES[scope];
}

/** How a performance is named and aimed. */
export type RequestOptions = Omit<PerformOptions, "target"> & { readonly target?: string };

/**
 * Options must be given: a target that was forgotten must not pass for none. Types say so; plain JavaScript learns it here.
 *
 * @throws DefinitionInvalid
 */
export function requireOptions(operation: Operation, options: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw new DefinitionInvalid(
      `Expected options for operation "${operation.name}", with what it acts on as target, but there are none. Give { target }.`,
    );
  }
}

/**
 * The request of one performance, checked and encoded as it is now, unless its schema takes its time.
 *
 * @throws SchemaRefused, ValueRefused, DefinitionInvalid
 */
export async function buildOperationRequest(
  operation: Operation,
  payload: unknown,
  options: RequestOptions,
): Promise<OperationRequest> {
  const { scope = "task", key, target = "" } = options;
  if (scope === "namespace" && key === undefined) {
    throw new DefinitionInvalid(
      `Expected a key for operation "${operation.name}", since in scope "namespace" it is the identity, but there is none. Give your own durable one, such as an invoice number.`,
    );
  }
  const what = `the payload of operation "${operation.name}"`;
  const request = requestOf(operation, {
    scope,
    key: key === undefined ? undefined : checkId(key, "key"),
    target: checkTarget(target),
    payload: undefined,
  });
  const encode = (checked: unknown): Payload => encodeResult(checked, "payload");
  request.payload = await fromValid(
    validate(operation.payloadSchema, payload, what, false),
    encode,
  );
  return request;
}

/** How one performance is named, aimed and filled. */
export interface RequestParts {
  readonly scope: NonNullable<PerformOptions["scope"]>;
  readonly key: string | undefined;
  readonly target: string;
  readonly payload: Payload | undefined;
}

/** The request of one performance, of parts that were checked. */
export function requestOf(
  operation: Operation,
  { scope, key, target, payload }: RequestParts,
): OperationRequest {
  const request = create(OperationRequestSchema, {
    name: operation.name,
    scope: SCOPES[scope],
    target,
    sink: create(SinkSchema, {
      kind: SINK_KINDS[operation.sink.kind],
      keyWindowMs: BigInt(operation.sink.keyWindowMs),
    }),
    callTimeoutMs: operation.callTimeoutMs,
  });
  if (operation.sink.settleMs !== undefined && request.sink !== undefined) {
    request.sink.settleMs = operation.sink.settleMs;
  }
  if (payload !== undefined) request.payload = payload;
  if (key !== undefined) request.key = key;
  return request;
}
