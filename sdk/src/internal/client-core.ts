import type { PawlClient } from "../client.js";
import type { PawlError } from "../errors.js";
import { makeController } from "./controller.js";
import type { ConnectionMonitor } from "./monitor.js";
import type { UnaryOptions } from "./unary.js";

/** What everything that belongs to one client shares. */
export class ClientCore {
  readonly api: PawlClient;
  /** Empty: the kernel's `default`. */
  readonly namespace: string;
  readonly monitor: ConnectionMonitor;
  readonly #closing: AbortController = makeController();

  constructor(api: PawlClient, namespace: string, monitor: ConnectionMonitor) {
    this.api = api;
    this.namespace = namespace;
    this.monitor = monitor;
  }

  /** Aborts when the client is closed, or its kernel failed for good. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Ends every call; whoever waits gets the reason. */
  close(reason: PawlError): void {
    this.#closing.abort(reason);
  }

  /** How unary calls are made, ended by the client's own end or by `signal`. */
  unary(signal?: AbortSignal): UnaryOptions {
    return {
      url: this.api.url,
      monitor: this.monitor,
      signal: signal === undefined ? this.signal : AbortSignal.any([this.signal, signal]),
    };
  }
}
