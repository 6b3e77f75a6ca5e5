import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A pair of sockets: from the client, to the kernel. */
interface Pair {
  readonly down: Socket;
  readonly up: Socket;
}

/** Something between client and kernel that treats connections badly. */
export class BadNetwork {
  /** Connections made so far. */
  connections = 0;
  /** Cuts a connection on which no byte passed for this long; undefined: never. */
  idleMs: number | undefined;
  /** True: what the kernel answers is thrown away. */
  swallowsAnswers = false;
  /** Bytes of answers that were thrown away. */
  swallowedBytes = 0;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Opens one before a port. */
  static async open(port: number): Promise<BadNetwork> {
    const server = createServer();
    const proxy = new BadNetwork(server);
    server.on("connection", (down) => proxy.#join(down, connect(port, "127.0.0.1")));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cuts every connection that is open. */
  cut(): void {
    for (const { down, up } of this.#pairs) {
      down.resetAndDestroy();
      up.destroy();
    }
  }

  /** Lets every open connection stand, but passes nothing on it any more, as a firewall that drops packets. New ones work. */
  blackhole(): void {
    for (const { down, up } of this.#pairs) {
      down.removeAllListeners("data");
      up.removeAllListeners("data");
      down.resume();
      up.resume();
    }
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(down: Socket, up: Socket): void {
    this.connections++;
    const pair = { down, up };
    this.#pairs.add(pair);
    let idle: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(idle);
      this.#pairs.delete(pair);
      down.destroy();
      up.destroy();
    };
    const touch = (): void => {
      clearTimeout(idle);
      if (this.idleMs !== undefined) idle = setTimeout(end, this.idleMs);
    };
    down.on("data", (bytes) => {
      touch();
      up.write(bytes);
    });
    up.on("data", (bytes) => {
      touch();
      if (this.swallowsAnswers) this.swallowedBytes += bytes.length;
      else down.write(bytes);
    });
    for (const socket of [down, up]) socket.on("close", end).on("error", end);
    touch();
  }
}
