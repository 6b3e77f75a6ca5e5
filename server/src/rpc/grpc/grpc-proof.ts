import type { ServerUnaryCall } from "@grpc/grpc-js";
import { certificateNames } from "../access/certificate-names.js";
import type { Proof } from "../access/credentials.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import { cutText } from "../rejection-shape.js";

/** What every call of grpc-js tells of its caller. */
export type AuthenticatedCall = Pick<
  ServerUnaryCall<Buffer, Buffer>,
  "metadata" | "getAuthContext" | "getHost"
>;

const noNames: readonly string[] = [];

/**
 * Checks under which name a kernel was asked, and by which page, as over HTTP/1.1.
 *
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function requireOwnHost({ hosts }: Edge, call: AuthenticatedCall): void {
  const authority = call.getHost();
  if (!hosts.isOwn(authority)) {
    const expected = "localhost, a loopback address, or a name of this kernel's certificate";
    throw badField(":authority", expected, cutText(authority, 100));
  }
  const [origin] = call.metadata.get("origin");
  if (!hosts.isOwnOrigin(origin?.toString(), authority)) {
    throw badField("origin", "this kernel's own, or absent", cutText(String(origin), 100));
  }
}

/** How the caller of a gRPC call says who it is. */
export function proofOf(call: AuthenticatedCall): Proof {
  const [authorization] = call.metadata.get("authorization");
  return {
    authorization: typeof authorization === "string" ? authorization : undefined,
    certificates: () => {
      // grpc-js gives the certificate only when TLS has verified it.
      const { sslPeerCertificate: certificate } = call.getAuthContext();
      return certificate === undefined ? noNames : certificateNames(certificate);
    },
  };
}
