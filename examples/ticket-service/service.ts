import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Books } from "./books.js";
import { TicketDesk } from "./desk.js";
import { Holds } from "./holds.js";
import { sendJson } from "./http-io.js";
import { type RouteContext, route } from "./routes.js";
import { invalidField, TicketError } from "./ticket-error.js";
import type { SinkMode } from "./wire.js";

/** What the service is made of. */
export interface ServiceOptions {
  readonly books: Books;
  /** The mode of paths that name none. */
  readonly defaultMode: SinkMode;
  /** Called once a fault has been answered that the process must not outlive: unwritable books, or a bug. */
  readonly onFault: (error: unknown) => void;
}

/** Longest time that {@link TicketService.close} waits for calls and their connections, in milliseconds. */
const drainMs = 2_000;

/** The HTTP face of the books, on the loopback address only. */
export class TicketService {
  readonly #context: RouteContext;
  readonly #onFault: (error: unknown) => void;
  readonly #server: Server;
  readonly #openCalls = new Set<Promise<void>>();

  constructor({ books, defaultMode, onFault }: ServiceOptions) {
    const holds = new Holds();
    this.#context = { books, holds, defaultMode, desk: new TicketDesk(books, holds) };
    this.#onFault = onFault;
    this.#server = createServer((request, response) => {
      const call = this.#answer(request, response);
      this.#openCalls.add(call);
      void call.finally(() => this.#openCalls.delete(call));
    });
  }

  /** Listens on 127.0.0.1; port 0 takes a free one. Resolves to the port. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  /** Refuses new connections, drops held calls, lets the others end (at most 2 s), closes the books. */
  async close(): Promise<void> {
    this.#server.close();
    this.#context.holds.close();
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, drainMs);
    });
    await Promise.race([this.#drain(), bound]);
    clearTimeout(timer);
    this.#server.closeAllConnections();
    await this.#context.books.close();
  }

  async #drain(): Promise<void> {
    while (this.#openCalls.size > 0) await Promise.all(this.#openCalls);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that goes away in the middle of an answer is its own affair; what it did is booked.
    response.on("error", () => response.destroy());
    try {
      await route(this.#context, { request, response, url: readUrl(request) });
    } catch (error) {
      this.#refuse(request, response, error);
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (!(error instanceof TicketError)) {
      // The body broke off: nothing was booked, and nobody is there to be told.
      if (request.destroyed && !request.complete) return;
      sendJson(response, 500, { error: { code: "TICKET_INTERNAL", message: String(error) } });
      this.#onFault(error);
      return;
    }
    const { code, status, message, details } = error;
    if (code === "TICKET_KEY_IN_FLIGHT") response.setHeader("retry-after", "1");
    sendJson(response, status, { error: { code, message, ...details } });
    if (code === "TICKET_BOOKS_FAILED") this.#onFault(error);
  }
}

function readUrl(request: IncomingMessage): URL {
  try {
    return new URL(request.url ?? "/", "http://127.0.0.1");
  } catch (cause) {
    throw invalidField("the request target", "a path", { cause });
  }
}
