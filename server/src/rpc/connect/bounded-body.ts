import type { IncomingMessage } from "node:http";
import { limits } from "../../core/limits.js";
import { tooLarge } from "../refusals.js";
import { connectError } from "./connect-error.js";

/** How much of a body that is refused is still read, in bytes: a client that is cut while it sends may never see its answer. */
const discardedBytesMax = 64 * 1024 * 1024;

/**
 * The body of a request, up to the bound of a message; then a refusal, with its own reason. The rest of a refused body is read and
 * dropped, so that the answer arrives.
 */
export async function* boundedBody(request: IncomingMessage): AsyncIterable<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > limits.messageBytesMax) {
        throw connectError(tooLarge(undefined));
      }
      yield chunk;
    }
  } finally {
    discardRest(request);
  }
}

/** Reads what is left of a body and drops it; a client that sends without end is cut. */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) {
    return;
  }
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardedBytesMax) {
      request.destroy();
    }
  });
}
