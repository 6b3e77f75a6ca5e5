import type { ServerResponse } from "node:http";
import type { Timers } from "../../kernel/ports.js";
import { unreadMsMax } from "../grpc/cut-unread.js";

/**
 * Cuts a call over HTTP/1.1 that was ended before its time when its end does not leave: it comes behind all that was written before, and stays
 * there while the client does not read. The connection goes with it, since nothing else tells calls on it apart.
 */
export function cutUnreadResponse(response: ServerResponse | undefined, timers: Timers): void {
  if (response === undefined || response.writableFinished || response.destroyed) {
    return;
  }
  const timer = timers.after(unreadMsMax, () => response.destroy());
  const cancel = (): void => timer.cancel();
  response.once("finish", cancel);
  response.once("close", cancel);
}
