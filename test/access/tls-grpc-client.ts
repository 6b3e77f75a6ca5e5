import { credentials } from "@grpc/grpc-js";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import type { Certified } from "./make-certificate.js";

/** How a client proves itself, and whom it trusts. */
export interface TlsGrpcOptions extends Partial<Certified> {
  readonly ca: string;
  readonly token?: string;
}

/** A plain grpc-js client over TLS. */
export class TlsGrpcClient extends GrpcClient {
  constructor(port: number, { ca, cert, key, token }: TlsGrpcOptions) {
    const pem = (text: string | undefined): Buffer | null =>
      text === undefined ? null : Buffer.from(text);
    super(port, token, {
      secure: credentials.createSsl(Buffer.from(ca), pem(key), pem(cert)),
      "grpc.ssl_target_name_override": "pawl.test",
      "grpc.default_authority": "pawl.test",
    });
  }
}
