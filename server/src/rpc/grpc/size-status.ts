import { ServerInterceptingCall, type ServerInterceptor, status } from "@grpc/grpc-js";
import { tooLarge } from "../refusals.js";
import { grpcStatus } from "./grpc-status.js";

/** How grpc-js words its refusals of messages above its bounds. */
const oversize = /larger than (?:max \((\d+) vs|\d)/;

/**
 * Gives a message above the bound its own reason. grpc-js answers it with RESOURCE_EXHAUSTED, as it would an overload, which
 * clients send again for ever; and it does so below its interceptors. So the call's own `sendStatus` is replaced, which grpc-js
 * goes through for every status. If it ever stopped to, clients would see the bare RESOURCE_EXHAUSTED again.
 */
export const nameOversize: ServerInterceptor = (_method, call) => {
  const sendStatus = call.sendStatus.bind(call);
  call.sendStatus = (ended) => {
    const match =
      ended.code === status.RESOURCE_EXHAUSTED ? oversize.exec(ended.details ?? "") : null;
    if (match === null) {
      sendStatus(ended);
      return;
    }
    sendStatus(grpcStatus(tooLarge(match[1] === undefined ? undefined : Number(match[1]))));
  };
  return new ServerInterceptingCall(call);
};
