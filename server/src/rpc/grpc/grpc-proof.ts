import type { ServerUnaryCall } from "@grpc/grpc-js";
import { certificateNames } from "../access/certificate-names.js";
import type { Proof } from "../access/credentials.js";

/** What every call of grpc-js tells of its caller. */
export type AuthenticatedCall = Pick<
  ServerUnaryCall<Buffer, Buffer>,
  "metadata" | "getAuthContext"
>;

const noNames: readonly string[] = [];

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
