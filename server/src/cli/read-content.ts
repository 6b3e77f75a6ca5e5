import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type BlobRef, type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import type { Proposal } from "@pawl/proto/v1/proposal_pb.js";
import { CliError } from "./cli-error.js";
import { exitCodes } from "./exit-codes.js";
import type { ProposalContent } from "./format/proposal-content.js";
import type { KernelSession } from "./with-kernel.js";

/** How long all of the content may take. */
const CONTENT_TIMEOUT_MS = 120_000;

/** Reads all of a proposal's content, also what is stored beside its run. Errors: `CliError` when what comes is not what was recorded. */
export async function readContent(
  session: KernelSession,
  proposal: Proposal,
): Promise<ProposalContent | undefined> {
  const { payload } = proposal;
  if (payload === undefined) return undefined;
  const { body } = payload;
  const bytes =
    body.case === "blob"
      ? await readBlob(session, proposal, body.value)
      : (body.value ?? new Uint8Array());
  return { payload, bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** The payload with the content in it, wherever it is stored. */
export function wholePayload({ payload, bytes }: ProposalContent): Payload {
  return create(PayloadSchema, { ...payload, body: { case: "data", value: bytes } });
}

async function readBlob(
  { kernel, namespace }: KernelSession,
  { runId, operationKey }: Proposal,
  { sha256, sizeBytes }: BlobRef,
): Promise<Uint8Array> {
  const place = runId === "" ? { operationKey } : { runId };
  const chunks: Uint8Array[] = [];
  const answer = kernel.runs.readBlob(
    { namespace, sha256, ...place },
    { timeoutMs: CONTENT_TIMEOUT_MS },
  );
  let length = 0;
  for await (const { data } of answer) {
    length += data.length;
    if (length > Number(sizeBytes)) throw differs("more bytes than were recorded");
    chunks.push(data);
  }
  if (length < Number(sizeBytes)) throw differs(`${length} of ${sizeBytes} bytes`);
  const bytes = Buffer.concat(chunks);
  if (!createHash("sha256").update(bytes).digest().equals(sha256)) {
    throw differs("another SHA-256 than was recorded");
  }
  return bytes;
}

function differs(found: string): CliError {
  return new CliError(
    `Expected the content that the proposal names, but there came ${found}. Decide nothing by it.`,
    {
      exitCode: exitCodes.refused,
      reason: "PAWL_CLI_CONTENT_DAMAGED",
      next: ["Stop the kernel, and look at what it stores: npx --no pawl verify"],
    },
  );
}
