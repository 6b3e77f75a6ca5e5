import { constants, type ServerHttp2Stream } from "node:http2";
import { Duplex } from "node:stream";
import type { Timers } from "../../kernel/ports.js";

/** How long the status that ends a call may be on its way to a client that reads nothing, in ms; then the call is cut. */
export const unreadMsMax: number = 10_000;

/**
 * Cuts a call that was ended before its time when its status does not leave: a status comes behind all that was written before, and stays
 * there while the client does not read. The client then gets CANCELLED instead.
 */
export function cutUnread(call: object, timers: Timers): void {
  const stream = streamOf(call);
  if (stream === undefined || stream.closed) {
    return;
  }
  const timer = timers.after(unreadMsMax, () => {
    if (!stream.closed) {
      stream.close(constants.NGHTTP2_CANCEL);
    }
  });
  stream.once("close", () => timer.cancel());
}

/** Interceptors lie around the call that has the stream. */
const layersMax = 8;

/** The HTTP/2 stream of a call of grpc-js, which gives no way to it. Undefined when it lies elsewhere than it did; a test would show that. */
function streamOf(call: object): ServerHttp2Stream | undefined {
  let layer: unknown = Reflect.get(call, "call");
  for (let depth = 0; depth < layersMax && typeof layer === "object" && layer !== null; depth++) {
    const stream: unknown = Reflect.get(layer, "stream");
    if (isHttp2Stream(stream)) {
      return stream;
    }
    layer = Reflect.get(layer, "nextCall");
  }
  return undefined;
}

function isHttp2Stream(stream: unknown): stream is ServerHttp2Stream {
  return stream instanceof Duplex && "rstCode" in stream && "session" in stream;
}
