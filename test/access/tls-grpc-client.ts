import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { toRefusal } from "../rpc/support/grpc-client.js";
import type { Certified } from "./make-certificate.js";

/** How a client proves itself, and whom it trusts. */
export interface TlsGrpcOptions extends Partial<Certified> {
  readonly ca: string;
  readonly token?: string;
}

/** A plain grpc-js client over TLS. */
export class TlsGrpcClient {
  readonly #client: Client;
  readonly #metadata = new Metadata();

  constructor(port: number, { ca, cert, key, token }: TlsGrpcOptions) {
    const pem = (text: string | undefined): Buffer | null =>
      text === undefined ? null : Buffer.from(text);
    const secure = credentials.createSsl(Buffer.from(ca), pem(key), pem(cert));
    this.#client = new Client(`127.0.0.1:${port}`, secure, {
      "grpc.ssl_target_name_override": "pawl.test",
      "grpc.default_authority": "pawl.test",
    });
    if (token !== undefined) {
      this.#metadata.set("authorization", `Bearer ${token}`);
    }
  }

  unary<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (bytes: Buffer) => bytes,
        (bytes) => fromBinary<M["output"]>(method.output, bytes),
        Buffer.from(toBinary(method.input, create(method.input, request))),
        this.#metadata,
        (error, answer) => {
          if (error !== null) {
            reject(toRefusal(error));
          } else if (answer !== undefined) {
            resolve(answer);
          }
        },
      );
    });
  }

  close(): void {
    this.#client.close();
  }
}
