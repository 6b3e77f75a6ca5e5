import type { IncomingMessage, ServerResponse } from "node:http";
import { TLSSocket } from "node:tls";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { certificateNames } from "../access/certificate-names.js";
import type { Proof } from "../access/credentials.js";

const noNames: readonly string[] = [];

const certificatesKey: ContextKey<Proof["certificates"]> = createContextKey(() => noNames);

const responseKey: ContextKey<ServerResponse | undefined> = createContextKey<
  ServerResponse | undefined
>(undefined);

/** What the connection of a request tells its handler. */
export function connectionValues(
  request: IncomingMessage,
  response: ServerResponse,
): ContextValues {
  return createContextValues()
    .set(certificatesKey, () => peerNames(request))
    .set(responseKey, response);
}

/** Where the answer to a Connect call is written. */
export function responseOf({ values }: HandlerContext): ServerResponse | undefined {
  return values.get(responseKey);
}

/** How whoever asks for a page says who it is. */
export function requestProof(request: IncomingMessage): Proof {
  const { authorization } = request.headers;
  return { authorization, certificates: () => peerNames(request) };
}

function peerNames({ socket }: IncomingMessage): readonly string[] {
  if (!(socket instanceof TLSSocket && socket.authorized)) {
    return noNames;
  }
  const certificate = socket.getPeerCertificate();
  return "raw" in certificate ? certificateNames(certificate) : noNames;
}

/** How the caller of a Connect call says who it is. */
export function proofOf({ requestHeader, values }: HandlerContext): Proof {
  return {
    authorization: requestHeader.get("authorization") ?? undefined,
    certificates: values.get(certificatesKey),
  };
}
