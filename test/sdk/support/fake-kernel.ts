import type { EventEmitter } from "node:events";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import {
  RunService,
  type SubmitRequestSchema,
  SubmitResponseSchema,
  type WatchRunRequestSchema,
  WatchRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import {
  WorkerService,
  type WorkRequestSchema,
  WorkResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";

/** What of a call is used. */
type FakeCall = EventEmitter & { write(message: unknown): unknown; end(): unknown };

/** One bidi stream as the fake kernel sees it. */
export class FakeStream<Request extends DescMessage, Response extends DescMessage> {
  readonly #call: FakeCall;
  readonly #response: Response;
  readonly #messages: MessageShape<Request>[] = [];
  readonly #readers: ((message: MessageShape<Request>) => void)[] = [];
  readonly closed: Promise<void>;

  constructor(call: FakeCall, response: Response) {
    this.#call = call;
    this.#response = response;
    call.on("data", (message: MessageShape<Request>) => {
      // Asked by ping whether it has read acknowledgements, it says so by itself; a ping alone is for the test to answer.
      const ping: unknown = Reflect.get(message, "ping");
      const acks: unknown = Reflect.get(message, "acks");
      if (typeof ping === "number" && ping !== 0 && Array.isArray(acks) && acks.length > 0) {
        this.#call.write(Object.assign(create(this.#response), { pong: ping }));
      }
      const reader = this.#readers.shift();
      if (reader === undefined) this.#messages.push(message);
      else reader(message);
    });
    call.on("error", () => undefined);
    call.on("end", () => call.end());
    this.closed = new Promise((resolve) => {
      call.on("end", () => resolve());
      call.on("cancelled", () => resolve());
      call.on("close", () => resolve());
    });
  }

  /** The next message. */
  next(): Promise<MessageShape<Request>> {
    const message = this.#messages.shift();
    return message === undefined
      ? new Promise((resolve) => this.#readers.push(resolve))
      : Promise.resolve(message);
  }

  /** The first message for which `pick` finds something, and that; messages before it are dropped. */
  async until<T>(pick: (message: MessageShape<Request>) => T | undefined): Promise<T> {
    for (;;) {
      const found = pick(await this.next());
      if (found !== undefined) return found;
    }
  }

  send(message: MessageInitShape<Response>): void {
    this.#call.write(create(this.#response, message));
  }

  /** Ends the stream well. */
  end(): void {
    this.#call.end();
  }

  /** Ends the stream as a kernel that goes away does. */
  fail(): void {
    this.#call.emit("error", {
      code: grpc.status.UNAVAILABLE,
      details: "the kernel is going away",
    });
  }
}

/** A worker's stream. */
export type FakeWork = FakeStream<typeof WorkRequestSchema, typeof WorkResponseSchema>;

/** A client's submit stream. */
export type FakeSubmit = FakeStream<typeof SubmitRequestSchema, typeof SubmitResponseSchema>;

/** A watch of one run. */
export type FakeWatch = FakeStream<typeof WatchRunRequestSchema, typeof WatchRunResponseSchema>;

/** A unary method's script: the answer, or a status to fail with. */
type UnaryScript = (request: unknown) => unknown;

type Services = typeof RunService | typeof WorkerService | typeof OperationService;

/** A kernel without a kernel: a gRPC server whose every answer a test writes. */
export class FakeKernel {
  readonly #works = new Arrivals<FakeWork>();
  readonly #submits = new Arrivals<FakeSubmit>();
  readonly #watches = new Arrivals<FakeWatch>();
  readonly #unary = new Map<string, UnaryScript>();
  #server: grpc.Server | undefined;
  #port = 0;

  static async start(): Promise<FakeKernel> {
    const kernel = new FakeKernel();
    await kernel.listen();
    return kernel;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, on the port it had before. */
  async listen(): Promise<void> {
    const server = new grpc.Server();
    for (const service of [RunService, WorkerService, OperationService])
      this.#serve(server, service);
    this.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(
        `127.0.0.1:${this.#port}`,
        grpc.ServerCredentials.createInsecure(),
        (error, port) => (error === null ? resolve(port) : reject(error)),
      );
    });
    this.#server = server;
  }

  /** Dies, with all connections, as by kill -9. */
  kill(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  nextWork(): Promise<FakeWork> {
    return this.#works.next();
  }

  nextSubmit(): Promise<FakeSubmit> {
    return this.#submits.next();
  }

  nextWatch(): Promise<FakeWatch> {
    return this.#watches.next();
  }

  /** Scripts a unary method, for example `RenewLeases`. */
  onUnary(method: string, script: UnaryScript): void {
    this.#unary.set(method, script);
  }

  /** Welcomes the next worker stream. */
  async welcome(options: { lostHandles?: number[]; pingIntervalMs?: number } = {}): Promise<{
    work: FakeWork;
    first: MessageShape<typeof WorkRequestSchema>;
  }> {
    const work = await this.nextWork();
    const first = await work.next();
    work.send({
      welcome: { offerAckMs: 5_000, pingIntervalMs: 5_000, messageBytesMax: 4_194_304, ...options },
    });
    return { work, first };
  }

  #serve(server: grpc.Server, service: Services): void {
    const definition: Record<string, grpc.MethodDefinition<unknown, unknown>> = {};
    const handlers: Record<string, grpc.UntypedHandleCall> = {};
    for (const method of service.methods) {
      const isClientStream = method.methodKind === "bidi_streaming";
      definition[method.name] = {
        path: `/${service.typeName}/${method.name}`,
        requestStream: isClientStream,
        responseStream: method.methodKind !== "unary",
        requestSerialize: () => Buffer.alloc(0),
        requestDeserialize: (bytes) => fromBinary(method.input, bytes),
        responseSerialize: (message) =>
          Buffer.from(
            toBinary(
              method.output,
              create(method.output, message as MessageInitShape<DescMessage>),
            ),
          ),
        responseDeserialize: () => undefined,
      };
      handlers[method.name] = this.#handler(method.name, method.methodKind);
    }
    server.addService(definition, handlers);
  }

  #handler(name: string, kind: string): grpc.UntypedHandleCall {
    if (name === "Work") {
      return (call: grpc.ServerDuplexStream<unknown, unknown>) =>
        this.#works.arrive(new FakeStream(call, WorkResponseSchema));
    }
    if (name === "Submit") {
      return (call: grpc.ServerDuplexStream<unknown, unknown>) =>
        this.#submits.arrive(new FakeStream(call, SubmitResponseSchema));
    }
    if (name === "WatchRun") {
      return (call: grpc.ServerWritableStream<unknown, unknown>) => {
        const watch: FakeWatch = new FakeStream(call, WatchRunResponseSchema);
        call.emit("data", call.request);
        this.#watches.arrive(watch);
      };
    }
    if (kind !== "unary") {
      return (call: grpc.ServerWritableStream<unknown, unknown>) => call.end();
    }
    return (call: grpc.ServerUnaryCall<unknown, unknown>, done: grpc.sendUnaryData<unknown>) => {
      const script = this.#unary.get(name);
      if (script === undefined) {
        done({ code: grpc.status.UNAVAILABLE, details: `no script for ${name}` });
        return;
      }
      Promise.resolve(script(call.request)).then(
        (answer) => done(null, answer),
        (error) => done({ code: grpc.status.UNAVAILABLE, details: String(error) }),
      );
    };
  }
}

/** What arrives, for whoever waits for it. */
class Arrivals<T> {
  readonly #arrived: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  arrive(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#arrived.push(value);
    else waiting(value);
  }

  next(): Promise<T> {
    const value = this.#arrived.shift();
    return value === undefined
      ? new Promise((resolve) => this.#waiting.push(resolve))
      : Promise.resolve(value);
  }
}
