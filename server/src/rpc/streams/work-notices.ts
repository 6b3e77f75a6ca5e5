import type { EmitItemShape, WorkRequestShape } from "@pawl/proto/v1/worker_service_wire.js";
import { limits } from "../../core/limits.js";
import type { WorkerSession } from "../../kernel/kernel-api.js";
import { RejectionError } from "../../kernel/outcome.js";
import { readChunk } from "../output-chunk.js";
import { scanPayload } from "../payload-scan.js";
import type { Handle, Handles } from "./handles.js";
import type { WorkOutbox } from "./work-outbox.js";

/** Where the notices of a message go. */
export interface NoticeParts {
  readonly session: WorkerSession;
  readonly handles: Handles;
  /** What is answered at once. */
  readonly now: WorkOutbox;
}

/** Takes what is memory only: pings, acknowledgements, renewals, progress, live output, credits. It is done at once and not answered. */
export function takeNotices(request: WorkRequestShape, parts: NoticeParts): void {
  const { session, handles, now } = parts;
  if (request.pong !== 0) {
    handles.pong(request.pong);
  }
  if (request.ping !== 0) {
    now.pong = request.ping;
  }
  for (const handle of request.acks) {
    acknowledge(handles.get(handle), session);
  }
  for (const handle of request.renewals) {
    if (!session.renew(handle) && handles.get(handle) === undefined) {
      now.lostLeases.push({ handle, cause: "returned" });
    }
  }
  for (const { handle, progress } of request.progress) {
    if (progress !== undefined && isProgress(progress)) {
      session.progress(handle, progress);
    }
  }
  for (const item of request.emits) {
    takeChunk(item, session);
  }
  if (request.credits !== 0) {
    session.addCredits(request.credits);
  }
  if (request.drain) {
    session.drain();
  }
}

/** Notes that the worker took the offer of a lease. */
export function acknowledge(entry: Handle | undefined, session: WorkerSession): void {
  if (entry !== undefined && !entry.isAcknowledged) {
    entry.isAcknowledged = true;
    session.acknowledge(entry.handle);
  }
}

/** Live output is not answered, so what is wrong with a chunk can only be left out. */
function takeChunk(item: EmitItemShape, session: WorkerSession): void {
  try {
    const chunk = readChunk(item, "");
    // Else it would keep the message that it came in.
    const kept = { ...chunk, payload: chunk.payload.slice() };
    session.emit(item.handle, item.leaseVersion, kept);
  } catch (error) {
    if (!(error instanceof RejectionError)) {
      throw error;
    }
  }
}

/** Progress is not answered, so what is wrong with it can only be left out. */
function isProgress(progress: Uint8Array): boolean {
  try {
    scanPayload(progress, "progress");
    return progress.length <= limits.inlineBytesMax;
  } catch (error) {
    if (error instanceof RejectionError) {
      return false;
    }
    throw error;
  }
}
