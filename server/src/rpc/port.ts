import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Timers } from "../kernel/ports.js";
import type { TlsFiles } from "./tls-files.js";

/** Code of a `ListenError`. */
export type ListenErrorCode =
  | "PAWL_PORT_IN_USE"
  | "PAWL_HOST_REFUSED"
  | "PAWL_LISTEN_FAILED"
  | "PAWL_TLS_INVALID";

/** The port could not be opened. */
export class ListenError extends Error {
  override readonly name: string = "ListenError";
  readonly code: ListenErrorCode;
  readonly host: string;
  readonly port: number;

  constructor(
    code: ListenErrorCode,
    message: string,
    place: { readonly host: string; readonly port: number },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.host = place.host;
    this.port = place.port;
  }
}

/** What a port is opened with. */
export interface PortOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** A local socket instead of host and port: only who may write to its file can connect. */
  readonly socketPath?: string | undefined;
  /** TLS: what the port proves itself by, and whom it asks for the same. Absent: plaintext. */
  readonly tls?: TlsFiles | undefined;
  readonly timers: Timers;
  /** How long a connection may take to send its first bytes, in ms. */
  readonly handshakeMs: number;
  /** Takes connections that begin with the preface of HTTP/2. */
  readonly onHttp2: (socket: Socket) => void;
  /** Told when a connection could not be accepted. */
  readonly onError: (error: Error) => void;
  /** Takes all others. */
  readonly onHttp1: (socket: Socket) => void;
}

/** Connections at a time. */
const connectionsMax = 10_000;

/** How every HTTP/2 connection begins (RFC 9113, 3.4). No HTTP/1.1 request can begin so. */
const preface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * One port for everything. In plaintext the first bytes of a connection tell HTTP/2 from HTTP/1.1. Under TLS the client's offer does:
 * HTTP/1.1 whenever it is among it, as with browsers, whose Connect calls need it; HTTP/2 when nothing else is, as with gRPC.
 */
export class Port {
  readonly #options: PortOptions;
  readonly #server: Server;
  readonly #sockets: Set<Socket> = new Set();
  /** Connections whose TLS handshake is going on, and what carries those that are past it. */
  readonly #raw: Set<Socket> = new Set();
  readonly #onEmpty: (() => void)[] = [];

  private constructor(options: PortOptions) {
    this.#options = options;
    this.#server =
      options.tls === undefined
        ? createServer({ noDelay: true }, (socket) => this.#accept(socket))
        : this.#createTls(options.tls);
    this.#server.maxConnections = connectionsMax;
  }

  /**
   * Opens the port.
   *
   * @throws ListenError PAWL_PORT_IN_USE or PAWL_LISTEN_FAILED.
   */
  static async open(options: PortOptions): Promise<Port> {
    const { host, port, socketPath } = options;
    const opened = new Port(options);
    const server = opened.#server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => reject(listenError(error, options)));
      server.listen(socketPath === undefined ? { host, port } : { path: socketPath }, resolve);
    });
    // From now on an error is one of accepting a connection (no more descriptors, for one); those that are open go on.
    server.removeAllListeners("error");
    server.on("error", options.onError);
    return opened;
  }

  /** The port's number; 0 for a local socket. */
  get number(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Takes no more connections; those that are open stay. */
  stopAccepting(): void {
    this.#server.close();
  }

  /** Resolves once no connection is open. */
  emptied(): Promise<void> {
    return this.#sockets.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#onEmpty.push(resolve);
        });
  }

  /** Cuts every connection that is still open. */
  destroy(): void {
    for (const socket of [...this.#sockets, ...this.#raw]) {
      socket.destroy();
    }
  }

  #createTls(tls: TlsFiles): Server {
    const server = createTlsServer({
      ...tls.options,
      noDelay: true,
      handshakeTimeout: this.#options.handshakeMs,
      // A client that offers nothing that is served is told so by the alert that TLS has for it.
      ALPNCallback: ({ protocols }) => ["http/1.1", "h2"].find((each) => protocols.includes(each)),
    });
    tls.onChange((options) => server.setSecureContext(options));
    server.on("connection", (socket) => {
      this.#raw.add(socket);
      socket.once("close", () => this.#raw.delete(socket));
    });
    server.on("secureConnection", (socket) => this.#acceptSecure(socket));
    // A handshake that fails is the client's matter: it was told by TLS.
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    return server;
  }

  #acceptSecure(socket: TLSSocket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#forget(socket));
    socket.on("error", ignoreError);
    // Whoever offers nothing speaks the oldest.
    if (socket.alpnProtocol === "h2") {
      this.#options.onHttp2(socket);
    } else {
      this.#options.onHttp1(socket);
    }
  }

  #forget(socket: Socket): void {
    this.#sockets.delete(socket);
    if (this.#sockets.size === 0) {
      for (const resolve of this.#onEmpty.splice(0)) {
        resolve();
      }
    }
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#forget(socket));
    // Until someone takes the connection, its errors are those of a peer that went away.
    const ignore = (): void => {};
    socket.on("error", ignore);
    const timer = this.#options.timers.after(this.#options.handshakeMs, () => socket.destroy());
    socket.once("close", () => timer.cancel());
    let seen: Buffer = Buffer.alloc(0);
    const onReadable = (): void => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) {
        return;
      }
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      const length = Math.min(seen.length, preface.length);
      const isHttp2 = seen.subarray(0, length).equals(preface.subarray(0, length));
      if (isHttp2 && length < preface.length) {
        return; // Not enough to tell yet.
      }
      socket.off("readable", onReadable);
      socket.off("error", ignore);
      timer.cancel();
      socket.unshift(seen);
      if (isHttp2) {
        this.#options.onHttp2(socket);
      } else {
        this.#options.onHttp1(socket);
      }
    };
    socket.on("readable", onReadable);
  }
}

/** A peer that went away; whoever has taken the connection knows as well. */
function ignoreError(): void {}

function listenError(error: NodeJS.ErrnoException, { host, port }: PortOptions): ListenError {
  const place = { host, port };
  if (error.code === "EADDRINUSE") {
    const message = `Expected port ${port} of ${host} to be free, but another program listens there. Stop it, or choose another port with --port.`;
    return new ListenError("PAWL_PORT_IN_USE", message, place, { cause: error });
  }
  const message = `Expected to listen at ${host}:${port}, but it failed: ${error.message}.`;
  return new ListenError("PAWL_LISTEN_FAILED", message, place, { cause: error });
}
