import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { ErrorInfoSchema, RetryInfoSchema } from "@pawl/proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "@pawl/proto/google/rpc/status_pb.js";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { Refusal } from "./refusal.js";
import type { RpcClient } from "./rpc-client.js";

/** How a client reaches the port: by default in plain text. */
export interface GrpcChannel extends ClientOptions {
  readonly secure?: ChannelCredentials;
}

/** A plain grpc-js client that speaks in protobuf-es messages. */
export class GrpcClient implements RpcClient {
  readonly raw: Client;
  readonly #metadata = new Metadata();

  /** @param token sent with every call. */
  constructor(port: number, token?: string, { secure, ...options }: GrpcChannel = {}) {
    if (token !== undefined) {
      this.#metadata.set("authorization", `Bearer ${token}`);
    }
    this.raw = new Client(`127.0.0.1:${port}`, secure ?? credentials.createInsecure(), {
      ...options,
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
    });
  }

  unary<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>> {
    return this.unaryBytes(method, encode(method.input, request));
  }

  /** Calls with bytes that may be no message at all. */
  unaryBytes<M extends DescMethodUnary>(
    method: M,
    request: Buffer,
  ): Promise<MessageShape<M["output"]>> {
    return new Promise((resolve, reject) => {
      this.raw.makeUnaryRequest(
        pathOf(method),
        (bytes: Buffer) => bytes,
        (bytes) => fromBinary<M["output"]>(method.output, bytes),
        request,
        this.#metadata,
        (error, answer) => {
          if (error !== null) {
            reject(toRefusal(error));
          } else if (answer === undefined) {
            reject(new Error("no answer"));
          } else {
            resolve(answer);
          }
        },
      );
    });
  }

  async *stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): AsyncIterable<MessageShape<M["output"]>> {
    const call = this.raw.makeServerStreamRequest(
      pathOf(method),
      (bytes: Buffer) => bytes,
      (bytes) => fromBinary<M["output"]>(method.output, bytes),
      encode(method.input, request),
      this.#metadata,
    );
    try {
      for await (const message of call) {
        yield message;
      }
    } catch (error) {
      throw toRefusal(error as ServiceError);
    } finally {
      call.cancel();
    }
  }

  /** Opens a stream both ways. */
  duplex<M extends DescMethodBiDiStreaming>(method: M): Duplex<M> {
    return new Duplex(
      method,
      this.raw.makeBidiStreamRequest(
        pathOf(method),
        (bytes: Buffer) => bytes,
        (bytes) => fromBinary<M["output"]>(method.output, bytes),
        this.#metadata,
      ),
    );
  }

  close(): void {
    this.raw.close();
  }
}

/** A stream both ways; what comes is kept until it is asked for. */
export class Duplex<M extends DescMethodBiDiStreaming> {
  readonly call: ClientDuplexStream<Buffer, MessageShape<M["output"]>>;
  readonly #method: M;
  readonly #came: MessageShape<M["output"]>[] = [];
  #wake: () => void = () => {};
  #end: Refusal | "ended" | undefined;

  constructor(method: M, call: ClientDuplexStream<Buffer, MessageShape<M["output"]>>) {
    this.#method = method;
    this.call = call;
    call.on("data", (message: MessageShape<M["output"]>) => {
      this.#came.push(message);
      this.#wake();
    });
    call.on("end", () => {
      this.#end ??= "ended";
      this.#wake();
    });
    call.on("error", (error: ServiceError) => {
      this.#end = toRefusal(error);
      this.#wake();
    });
  }

  send(request: MessageInitShape<M["input"]>): void {
    this.call.write(encode(this.#method.input, request));
  }

  /** Sends bytes that may be no message at all. */
  sendBytes(bytes: Uint8Array): void {
    this.call.write(Buffer.from(bytes));
  }

  /** The next message; throws the refusal with which the stream ends. */
  async next(): Promise<MessageShape<M["output"]>> {
    for (;;) {
      const message = this.#came.shift();
      if (message !== undefined) {
        return message;
      }
      if (this.#end !== undefined) {
        throw this.#end === "ended" ? new Error("the stream has ended") : this.#end;
      }
      await this.#somethingComes();
    }
  }

  /** The next message that passes; those before it are dropped. */
  async nextWhere(
    isWanted: (message: MessageShape<M["output"]>) => boolean,
  ): Promise<MessageShape<M["output"]>> {
    for (;;) {
      const message = await this.next();
      if (isWanted(message)) {
        return message;
      }
    }
  }

  /** How the stream ends, once it does. */
  async ended(): Promise<Refusal | "ended"> {
    while (this.#end === undefined) {
      await this.#somethingComes();
    }
    return this.#end;
  }

  end(): void {
    this.call.end();
  }

  cancel(): void {
    this.call.cancel();
  }

  #somethingComes(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function encode<D extends DescMessage>(schema: D, init: MessageInitShape<D>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, init)));
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** The refusal behind an error of grpc-js. */
export function toRefusal(error: ServiceError): Refusal {
  const code = status[error.code] ?? `${error.code}`;
  const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (!Buffer.isBuffer(bytes)) {
    return new Refusal({ code, message: error.details ?? error.message });
  }
  const { details, message } = fromBinary(StatusSchema, bytes);
  const unpack = <D extends DescMessage>(schema: D): MessageShape<D> | undefined =>
    details.map((any) => anyUnpack(any, schema)).find((found) => found !== undefined);
  const info = unpack(ErrorInfoSchema);
  const delay = unpack(RetryInfoSchema)?.retryDelay;
  return new Refusal({
    code,
    message,
    reason: info?.reason,
    domain: info?.domain,
    rejection: unpack(RejectionSchema),
    retryAfterMs:
      delay === undefined ? undefined : Number(delay.seconds) * 1000 + delay.nanos / 1e6,
  });
}
