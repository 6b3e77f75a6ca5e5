import * as http2 from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import { defer } from "./deferred.js";
import { startHostTimer, type Timer } from "./time.js";

/** What Connect asks of a session manager. */
type SessionManager = NonNullable<GrpcTransportOptions["sessionManager"]>;

/** How a connection is made and watched. */
export interface Http2ConnectionOptions {
  /** Origin to connect to, for example `http://127.0.0.1:7295`. */
  readonly origin: string;
  /** Passed to `http2.connect`: TLS settings, or `createConnection` for a socket path. */
  readonly nodeOptions: http2.ClientSessionOptions | http2.SecureClientSessionOptions;
  /** The peer must have spoken HTTP/2 within this many ms. */
  readonly connectTimeoutMs: number;
  /** A connection on which nothing was heard for this long is pinged. */
  readonly pingIntervalMs: number;
  /** A ping must be answered within this many ms. */
  readonly pingTimeoutMs: number;
}

/** Room for answers on their way; Node's 64 KiB would make a distant kernel wait for each window. */
const STREAM_WINDOW_BYTES = 1_048_576;
const SESSION_WINDOW_BYTES = 8_388_608;

/** Connections that one stream tries: each may be closed between its start and the stream's. */
const CONNECTIONS_MAX = 3;

/**
 * One HTTP/2 connection that is made anew when it is needed and none is alive.
 *
 * Connect's own manager takes a TCP connection for an HTTP/2 one (so that a silent peer is never noticed while
 * connecting), and its ping timer can outlive the session and throw where nobody catches it (its idle pings are armed
 * again by the streams that an abort closes). Here a session is ready when the peer's SETTINGS came, its error listener
 * stays for good, and all its timers end with it.
 */
export class Http2Connection implements SessionManager {
  readonly authority: string;
  readonly #options: Http2ConnectionOptions;
  /** All that are not closed: the current one, and those that only finish what they carry. */
  readonly #sessions = new Set<Session>();
  #current: Session | undefined;

  constructor(options: Http2ConnectionOptions) {
    this.#options = options;
    this.authority = options.origin;
  }

  /** Opens a stream, on a new connection when there is none. */
  async request(
    method: string,
    path: string,
    headers: http2.OutgoingHttpHeaders,
    options: Omit<http2.ClientSessionRequestOptions, "signal">,
  ): Promise<http2.ClientHttp2Stream> {
    for (let attempt = 1; attempt <= CONNECTIONS_MAX; attempt++) {
      const session = await this.#ready();
      const stream = session.open({ ...headers, ":method": method, ":path": path }, options);
      if (stream !== undefined) {
        return stream;
      }
      // The session went away between two ticks: nothing was sent on it.
      this.#forget(session);
    }
    throw new ConnectError(`${this.authority} closes every connection`, Code.Unavailable);
  }

  /** Connect tells that bytes came. */
  notifyResponseByteRead(stream: http2.ClientHttp2Stream): void {
    for (const session of this.#sessions) {
      if (session.owns(stream)) session.heard();
    }
  }

  /** Ends the connection with all its streams. A later request makes a new one. */
  destroy(): void {
    this.#current = undefined;
    for (const session of [...this.#sessions]) {
      session.destroy(new ConnectError("the client was closed", Code.Canceled));
    }
  }

  async #ready(): Promise<Session> {
    const session = this.#current ?? this.#connect();
    await session.ready;
    return session;
  }

  #connect(): Session {
    const session = new Session(this.#options, {
      retired: () => this.#forget(session),
      closed: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
    this.#current = session;
    return session;
  }

  #forget(session: Session): void {
    if (this.#current === session) {
      this.#current = undefined;
    }
  }
}

/** What a session tells the connection it belongs to. */
interface SessionOwner {
  /** No further stream should be opened on it. */
  retired(): void;
  /** It is gone. */
  closed(): void;
}

/** One `http2` session from connect to close. */
class Session {
  /** Resolves when the peer's SETTINGS came; rejects when the session ends before. */
  readonly ready: Promise<void>;
  readonly #session: http2.ClientHttp2Session;
  readonly #options: Http2ConnectionOptions;
  readonly #owner: SessionOwner;
  #isRetired = false;
  #isDestroyed = false;
  #error: Error | undefined;
  #streams = 0;
  #heardAtMs = performance.now();
  #pingSentAtMs: number | undefined;
  #timer: Timer;

  constructor(options: Http2ConnectionOptions, owner: SessionOwner) {
    this.#options = options;
    this.#owner = owner;
    const ready = defer<void>();
    this.ready = ready.promise;
    const session = http2.connect(options.origin, {
      ...options.nodeOptions,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    this.#session = session;
    this.#timer = startHostTimer(options.connectTimeoutMs, () => {
      const message = `no HTTP/2 settings came from ${options.origin} within ${options.connectTimeoutMs} ms`;
      this.destroy(new ConnectError(message, Code.Unavailable));
    });
    session.on("error", (error) => {
      this.#error ??= error;
    });
    session.once("remoteSettings", () => {
      session.setLocalWindowSize(SESSION_WINDOW_BYTES);
      this.heard();
      this.#timer.cancel();
      this.#watch();
      ready.resolve();
      if (this.#streams === 0) session.unref();
    });
    session.on("goaway", () => this.#retire());
    session.once("close", () => {
      this.#timer.cancel();
      this.#retire();
      this.#owner.closed();
      ready.reject(
        this.#error ??
          new ConnectError(`${options.origin} closed the connection`, Code.Unavailable),
      );
    });
  }

  /** Opens a stream; undefined when the session is gone. */
  open(
    headers: http2.OutgoingHttpHeaders,
    options: http2.ClientSessionRequestOptions,
  ): http2.ClientHttp2Stream | undefined {
    const session = this.#session;
    if (this.#isDestroyed || session.closed || session.destroyed) {
      return undefined;
    }
    const stream = closedBetweenTurns(session.request(headers, options));
    // A process with open streams stays alive; one that only keeps the connection may end.
    if (this.#streams++ === 0) session.ref();
    stream.once("close", () => {
      if (--this.#streams === 0) this.#idle();
    });
    return stream;
  }

  /** The peer goes away: what is open may end, nothing new begins here. */
  #retire(): void {
    this.#isRetired = true;
    this.#owner.retired();
    if (this.#streams === 0) this.#idle();
  }

  #idle(): void {
    if (this.#session.destroyed) return;
    this.#session.unref();
    // Node does not close a session by itself that was told to go away.
    if (this.#isRetired) this.#session.close();
  }

  /** True for streams of this session. */
  owns(stream: http2.ClientHttp2Stream): boolean {
    return stream.session === this.#session;
  }

  /** The peer is alive. */
  heard(): void {
    this.#heardAtMs = performance.now();
  }

  /**
   * Ends it with all its streams, with the next turn of the event loop: whoever asks may have been called by a stream of it, from within the host's reading of a
   * frame, and to free the session under that reading corrupts the process's memory (seen with Node.js 20: "corrupted size vs. prev_size").
   */
  destroy(reason: Error): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#error ??= reason;
    this.#timer.cancel();
    this.#retire();
    setImmediate(() => {
      if (!this.#session.destroyed) {
        this.#session.destroy(reason, http2.constants.NGHTTP2_CANCEL);
      }
    });
  }

  /** Pings a silent connection, and ends one that does not answer. */
  #watch(): void {
    const { pingIntervalMs, pingTimeoutMs } = this.#options;
    const armedAtMs = performance.now();
    this.#timer = startHostTimer(pingIntervalMs, () => {
      const nowMs = performance.now();
      // When this process itself was stopped or blocked, the answer may be waiting unread: look again next time.
      const wasBlocked = nowMs - armedAtMs > 2 * pingIntervalMs;
      const sentAtMs = this.#pingSentAtMs;
      if (sentAtMs !== undefined && !wasBlocked && nowMs - sentAtMs > pingTimeoutMs) {
        const message = `${this.#options.origin} did not answer a ping within ${pingTimeoutMs} ms`;
        this.destroy(new ConnectError(message, Code.Unavailable));
        return;
      }
      if (sentAtMs === undefined && nowMs - this.#heardAtMs >= pingIntervalMs) {
        this.#ping(nowMs);
      }
      this.#watch();
    });
  }

  #ping(nowMs: number): void {
    if (this.#session.closed || this.#session.destroyed) {
      return;
    }
    this.#pingSentAtMs = nowMs;
    this.#session.ping((error) => {
      this.#pingSentAtMs = undefined;
      if (error === null) this.heard();
    });
  }
}

/**
 * Lets a stream be closed with the next turn of the event loop only. Whoever closes it may do so from within the host's reading of a frame: Connect does, when
 * what ends a stream in that frame is an error. Node.js puts off what it sends for a close with CANCEL until the frame is read, but not what it sends for one
 * with any other code, and that frees the stream under the reading: the process dies of a corrupted heap.
 */
function closedBetweenTurns(stream: http2.ClientHttp2Stream): http2.ClientHttp2Stream {
  const close = stream.close.bind(stream);
  stream.close = (code, callback) => {
    if (code === http2.constants.NGHTTP2_CANCEL) {
      // Node.js itself closes each stream so when the connection is gone. Were that put off, the stream would end before without an error, and who waits for its answer
      // would wait for ever.
      close(code, callback);
      return;
    }
    if (callback !== undefined) stream.once("close", callback);
    setImmediate(() => {
      if (!stream.closed && !stream.destroyed) close(code);
    });
  };
  return stream;
}
