import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type BlobRef, type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import type { PawlClient } from "../client.js";
import { PawlError } from "../errors.js";
import { callUnary, type UnaryOptions } from "./unary.js";

/** Whose content is read, and how. */
export interface BlobSource {
  readonly api: PawlClient;
  readonly namespace: string;
  /** Empty for an operation in scope `namespace`. */
  readonly runId: string;
  readonly unary: UnaryOptions;
}

/** Longest content that is read into memory, in bytes. */
const BLOB_BYTES_MAX = 1_073_741_824;

/**
 * Brings in content that is stored beside its run, and checks its hash. Other payloads are given back as they are.
 *
 * @param operationKey The operation that holds it, when no run does.
 * @throws PawlError `PAWL_CONTENT_DAMAGED` when length or hash differ.
 */
export async function loadPayload(
  payload: Payload | undefined,
  source: BlobSource,
  operationKey = "",
): Promise<Payload | undefined> {
  if (payload?.body.case !== "blob") {
    return payload;
  }
  const blob = payload.body.value;
  if (blob.sizeBytes > BLOB_BYTES_MAX) {
    throw new PawlError(
      "PAWL_TOO_LARGE",
      `Expected content of at most ${BLOB_BYTES_MAX} bytes, but it has ${blob.sizeBytes}. Read it in chunks with ReadBlob.`,
      { retryable: false },
    );
  }
  const data = await callUnary((options) => readBlob(blob, { ...source, operationKey }, options), {
    ...source.unary,
    callMs: 120_000,
  });
  return create(PayloadSchema, { ...payload, body: { case: "data", value: data } });
}

async function readBlob(
  blob: BlobRef,
  { api, namespace, runId, operationKey }: BlobSource & { readonly operationKey: string },
  options: Parameters<PawlClient["runs"]["readBlob"]>[1],
): Promise<Uint8Array> {
  const data = new Uint8Array(Number(blob.sizeBytes));
  let length = 0;
  const request = { namespace, runId, operationKey, sha256: blob.sha256 };
  for await (const chunk of api.runs.readBlob(request, options)) {
    if (length + chunk.data.length > data.length) {
      throw damaged("more bytes than recorded");
    }
    data.set(chunk.data, length);
    length += chunk.data.length;
  }
  if (length !== data.length) {
    throw damaged(`${length} of ${data.length} bytes`);
  }
  if (!createHash("sha256").update(data).digest().equals(blob.sha256)) {
    throw damaged("another SHA-256 than recorded");
  }
  return data;
}

function damaged(found: string): PawlError {
  return new PawlError(
    "PAWL_CONTENT_DAMAGED",
    `Expected the content that its reference names, but there came ${found}. Run pawl verify on the store.`,
  );
}
