import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import { Health } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { ServerReflection } from "@pawl/proto/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "@pawl/proto/grpc/reflection/v1alpha/reflection_pb.js";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { limits } from "../core/limits.js";
import type { KernelApi } from "../kernel/kernel-api.js";
import { nodeRandom, nodeTimers } from "../kernel/node-ports.js";
import type { Random, Timers } from "../kernel/ports.js";
import { createLog, type Log, silentLog } from "../observe/log.js";
import { Metrics } from "../observe/metrics.js";
import { Gate } from "./access/gate.js";
import { RefusalLog } from "./access/refusal-log.js";
import type { TokenSource } from "./access/token-watch.js";
import { type BoundService, bindService } from "./binding.js";
import { createHttpFront, type PageServer } from "./connect/http-front.js";
import { JsonDigester } from "./digest/json-digester.js";
import { type Door, openDoor } from "./door.js";
import type { Edge } from "./edge.js";
import { byteHandler } from "./grpc/byte-call.js";
import { bytesMethod, grpcHandler } from "./grpc/grpc-service.js";
import { nameOversize } from "./grpc/size-status.js";
import { adminHandlers } from "./handlers/admin-handlers.js";
import { approvalHandlers } from "./handlers/approval-handlers.js";
import { operationHandlers } from "./handlers/operation-handlers.js";
import { reviewHandlers } from "./handlers/review-handlers.js";
import { runHandlers } from "./handlers/run-handlers.js";
import { workerHandlers } from "./handlers/worker-handlers.js";
import { Lifecycle } from "./lifecycle.js";
import { faultReporter, pagesOf } from "./observed.js";
import { PlanSource } from "./plan-source.js";
import { Port } from "./port.js";
import { SchemaChecker } from "./schema/schema-checker.js";
import { ContentScreen } from "./screen/content-screen.js";
import { healthHandlers } from "./standard/health.js";
import { Reflection } from "./standard/reflection.js";
import { SubmitStream } from "./streams/submit-stream.js";
import { WorkStream } from "./streams/work-stream.js";
import type { TlsSource } from "./tls-files.js";

/** The port on which a kernel listens when nothing else is said. */
export const defaultPort = 7295;

/** What a server is started with. */
export interface ServeOptions {
  readonly kernel: KernelApi;
  /** Default `127.0.0.1`. One that is no loopback address needs `tls` and `tokens`. */
  readonly host?: string;
  /** 0: any free one. Default 7295. */
  readonly port?: number;
  /** A local socket instead of host and port. */
  readonly socketPath?: string;
  /** Default: Node's. */
  readonly timers?: Timers;
  /** Default: Node's. */
  readonly random?: Random;
  /** Told of every fault of the kernel's own code, with the method it happened in. Default: a line of the log. */
  readonly onFault?: (error: unknown, where: string) => void;
  /** How long the headers of an HTTP/1.1 request may take, in ms. Default 10 s. */
  readonly headersMs?: number;
  /** Default: warnings and errors, as JSON lines on stderr. */
  readonly log?: Log;
  /** What `/metrics` tells, with what the kernel counts. Default: what the edge knows by itself. */
  readonly metrics?: Metrics;
  /** Where tokens are kept. Default: none are asked for, and everyone is `local`. */
  readonly tokens?: TokenSource;
  /** Default: plaintext. */
  readonly tls?: TlsSource;
  /** Names under which it may be asked, besides loopback addresses and those of its certificate. */
  readonly allowedHosts?: readonly string[];
  /** Answers what is no call over HTTP/1.1, for example the dashboard. */
  readonly pages?: PageServer;
}

/** A server that listens. */
export interface RunningServer {
  readonly host: string;
  readonly port: number;
  /**
   * Ends it: takes nothing new, lets what is open come to its end for `drainMs` (default 3,000, at most 4,000), then cuts it.
   * Always over within 5 s. May be called again.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** How long a connection may take to send its first bytes. */
const handshakeMs = 5_000;

/**
 * Serves a kernel on one port: gRPC over HTTP/2; Connect JSON, gRPC-web and pages over HTTP/1.1.
 *
 * @throws ListenError (as a rejection) when the port cannot be opened; TokenFileError or TlsFilesError when
 * their files cannot be used.
 */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port = defaultPort, timers = nodeTimers } = options;
  const metrics = options.metrics ?? new Metrics();
  const { kernel, socketPath, tokens, tls, allowedHosts = [] } = options;
  const onFault = onFaultOf(options);
  const guarded = { ...{ kernel, host, port, socketPath }, ...{ tokens, tls, allowedHosts } };
  const door = await openDoor(guarded, timers, onFault);
  const edge = createEdge(options, metrics, door);
  edge.kernel.onFailed((error) => edge.lifecycle.fail(error));
  edge.kernel.onHeld(() => edge.lifecycle.hold());
  edge.kernel.onScrubbed(() => edge.lifecycle.scrubbed());
  const services = bindServices(edge);
  const grpc = createGrpcServer(edge, services);
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  const front = createHttpFront({
    ...{ edge, services, pages: pagesOf(edge, metrics, options.pages) },
    headersMs: options.headersMs ?? 10_000,
  });
  const opened = await Port.open({
    ...{ host, port, socketPath, handshakeMs, timers },
    tls: door.tls,
    onError: (error) => edge.onFault(error, "accepting connections"),
    onHttp2: (socket) => injector.injectConnection(socket),
    onHttp1: (socket) => front.emit("connection", socket),
  }).catch((error: unknown) => {
    door.close();
    throw error;
  });
  metrics.watchEdge(() => ({ ...edge.lifecycle.gauges(), connections: opened.connections }));
  let closing: Promise<void> | undefined;
  const close = async (drainMs: number): Promise<void> => {
    door.close();
    opened.stopAccepting();
    edge.lifecycle.drain();
    // Tells every client to go elsewhere with what it begins from now on.
    injector.drain(drainMs + graceMs);
    front.closeIdleConnections();
    await withinMs(edge.timers, drainMs, edge.lifecycle.idle());
    edge.lifecycle.abortAll();
    front.closeIdleConnections();
    await withinMs(edge.timers, graceMs, opened.emptied());
    front.closeAllConnections();
    front.close();
    // Not from within the host's reading of a frame of one of the sessions that this ends: to free a session under it corrupts memory.
    await new Promise((resolve) => setImmediate(resolve));
    grpc.forceShutdown();
    injector.destroy();
    opened.destroy();
    await edge.digester.close();
    await edge.schemas.close();
  };
  return {
    host,
    port: opened.number,
    close: ({ drainMs = 3_000 } = {}) => {
      closing ??= close(Math.min(drainMs, drainMsMax));
      return closing;
    },
  };
}

/** A server without a port: whoever has the other end of a connection hands it over. */
export interface PortlessServer {
  /** Serves gRPC on a connection of this process. */
  accept(connection: Duplex): void;
  /** Cuts everything at once, as the end of a process does. May be called again. */
  close(): Promise<void>;
}

/** Serves a kernel to this process alone, on connections that never leave it: the same edge as behind a port. */
export async function startPortlessServer(
  options: Omit<ServeOptions, "host" | "port" | "socketPath" | "tls" | "tokens" | "pages">,
): Promise<PortlessServer> {
  const metrics = options.metrics ?? new Metrics();
  const local = { kernel: options.kernel, host: "127.0.0.1", port: 0, socketPath: undefined };
  const open = { ...local, tokens: undefined, tls: undefined, allowedHosts: [] };
  const door = await openDoor(open, options.timers ?? nodeTimers, onFaultOf(options));
  const edge = createEdge(options, metrics, door);
  edge.kernel.onFailed((error) => edge.lifecycle.fail(error));
  const grpc = createGrpcServer(edge, bindServices(edge));
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  const connections = new Set<Duplex>();
  return {
    accept: (connection) => {
      connections.add(connection);
      connection.once("close", () => connections.delete(connection));
      injector.injectConnection(connection);
    },
    close: async () => {
      door.close();
      for (const connection of connections) connection.destroy();
      grpc.forceShutdown();
      injector.destroy();
      await edge.digester.close();
      await edge.schemas.close();
    },
  };
}

/** Longest time in which open calls may come to their end. */
const drainMsMax = 4_000;

/** Time for the last statuses to leave before connections are cut. */
const graceMs = 500;

function createEdge(options: ServeOptions, metrics: Metrics, { credentials, hosts }: Door): Edge {
  return {
    kernel: options.kernel,
    digester: new JsonDigester(),
    schemas: new SchemaChecker(),
    plans: new PlanSource(),
    screen: new ContentScreen(options.kernel.credentialModeIn),
    timers: options.timers ?? nodeTimers,
    random: options.random ?? nodeRandom,
    lifecycle: new Lifecycle(),
    gate: new Gate(options.kernel, credentials, refusalLogOf(options)),
    hosts,
    version: readVersion(),
    meter: metrics,
    onFault: onFaultOf(options),
  };
}

function refusalLogOf({ log = silentLog }: ServeOptions): RefusalLog {
  return new RefusalLog(log, () => performance.now());
}

function onFaultOf({ onFault, log }: ServeOptions): Edge["onFault"] {
  return onFault ?? faultReporter(log ?? createLog({ level: "warn" }));
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  const isManifest = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isManifest ? String(manifest.version) : "unknown";
}

function bindServices(edge: Edge): BoundService[] {
  const own = [
    bindService(RunService, runHandlers(edge)),
    bindService(WorkerService, workerHandlers(edge)),
    bindService(OperationService, operationHandlers(edge)),
    bindService(ReviewService, reviewHandlers(edge)),
    bindService(ApprovalService, approvalHandlers(edge)),
    bindService(AdminService, adminHandlers(edge)),
  ];
  const names = own.map(({ service }) => service.typeName);
  const described = own.map(({ service }) => service);
  const reflection = new Reflection([
    ...described,
    Health,
    ServerReflection,
    ServerReflectionAlpha,
  ]);
  return [
    ...own,
    bindService(Health, healthHandlers(edge, names)),
    bindService(ServerReflection, reflection.handlers),
    bindService(ServerReflectionAlpha, reflection.alphaHandlers),
  ];
}

function createGrpcServer(edge: Edge, services: readonly BoundService[]): GrpcServer {
  const server = new GrpcServer({
    "grpc.max_receive_message_length": limits.messageBytesMax,
    // What is longer is refused by name before it comes here.
    "grpc.max_send_message_length": limits.messageBytesMax,
    "grpc.keepalive_time_ms": 20_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.max_concurrent_streams": 10_000,
    "grpc.enable_channelz": 0,
    interceptors: [nameOversize],
  });
  for (const { service, bindings } of services) {
    const definition = Object.fromEntries(
      service.methods.map((method) => [method.name, bytesMethod(method)]),
    );
    const implementation = Object.fromEntries(
      bindings.map((binding) => [binding.method.name, grpcHandler(edge, binding)]),
    );
    server.addService(definition, { ...implementation, ...hotStreams(edge, service.typeName) });
  }
  return server;
}

/** The methods that are served on bytes. */
function hotStreams(
  edge: Edge,
  service: string,
): Readonly<Record<string, ReturnType<typeof byteHandler>>> {
  const { submit } = RunService.method;
  const { work } = WorkerService.method;
  switch (service) {
    case RunService.typeName:
      return {
        [submit.name]: byteHandler(edge, submit, (...opened) => new SubmitStream(edge, ...opened)),
      };
    case WorkerService.typeName:
      return {
        [work.name]: byteHandler(edge, work, (...opened) => new WorkStream(edge, ...opened)),
      };
    default:
      return {};
  }
}

/** Waits for work to be done, but not for ever. */
async function withinMs(timers: Timers, ms: number, work: Promise<void>): Promise<void> {
  // Node's timers do not keep a process alive by themselves, and a shutdown that exits half-way would cut answers.
  const alive = setInterval(() => {}, 1_000);
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = timers.after(ms, resolve);
      work.then(() => {
        timer.cancel();
        resolve();
      }, reject);
    });
  } finally {
    clearInterval(alive);
  }
}
