import { type ChildOptions, startChild } from "../processes/child.js";
import { KeptChild, type KeptSpec } from "../processes/kept-child.js";
import { exampleWorker, ticketService } from "../processes/paths.js";
import { ticketsFolder } from "./folders.js";
import { KernelChild } from "./kernel-child.js";
import { type Speaker, say, tellErrors } from "./printer.js";
import { urlOf } from "./running-kernel.js";
import { notLetInCode, tokenHint } from "./token.js";

/** Where the kernel and the ticket service are. They stay there through restarts. */
export interface Addresses {
  readonly kernel: string;
  readonly tickets: string;
}

/** The three processes that the supervisor keeps running. */
export class Crew {
  readonly #port: number;
  readonly #pids = new Map<string, number>();
  readonly #addresses: Partial<Record<keyof Addresses, string>> = {};
  #kernel: KeptChild | undefined;
  #tickets: KeptChild | undefined;
  #worker: KeptChild | undefined;
  #tellReady: () => void = () => undefined;
  #isStopping = false;

  constructor(port: number) {
    this.#port = port;
  }

  /** Starts all three. Resolves when they are ready. Errors: `ChildHopeless`. */
  async start(): Promise<Addresses> {
    const kernel = new KernelChild(this.#port, (url, pid) => {
      this.#pids.set("kernel", pid);
      this.#arrive("kernel", url);
    });
    this.#kernel = new KeptChild(kernel);
    this.#tickets = new KeptChild(this.#ticketsSpec());
    const { kernel: kernelUrl, tickets: ticketsUrl } = await this.#orGivenUp(this.#bothArrived());
    const addresses = { kernel: kernelUrl, tickets: ticketsUrl };
    // Told to stop meanwhile: nobody waits for this any more, and nothing more may be started.
    if (this.#isStopping) return addresses;
    await this.#orGivenUp(
      new Promise<void>((resolve) => {
        this.#worker = new KeptChild(this.#workerSpec(addresses, resolve));
      }),
    );
    return addresses;
  }

  /** Rejects with `ChildHopeless` when one of them was given up; resolves when all were stopped. */
  get kept(): Promise<unknown> {
    return Promise.all(this.#all().map((child) => child.kept));
  }

  /** Ends them in order: the worker gives its tasks back first, while there is a kernel to take them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#worker?.stop();
    await Promise.all([this.#tickets?.stop(), this.#kernel?.stop()]);
  }

  /** Kills what still runs. Only while `stop` is under way; otherwise they are started again. */
  killAll(): void {
    for (const child of this.#all()) child.kill();
  }

  /** Tells what may be done while the run waits for a person. */
  tellWhatMayBeKilled(): void {
    say(
      "",
      `The wait needs no process: kill any (${this.#listPids()}), or all, before or after deciding.`,
    );
    say("", "Ctrl-C stops them, and npm start waits on.");
  }

  /** Tells what may be done now. */
  tellHowToGoOn(): void {
    say("", `All stay up: kill any process (${this.#listPids()}) and see it come back.`);
    say("", "Ctrl-C stops them, npm start goes on, npm start -- --new starts another run.");
  }

  #listPids(): string {
    return [...this.#pids].map(([name, pid]) => `${name} ${pid}`).join(", ");
  }

  #all(): KeptChild[] {
    return [this.#worker, this.#tickets, this.#kernel].filter((child) => child !== undefined);
  }

  #orGivenUp<T>(wanted: Promise<T>): Promise<T> {
    const givenUp = this.kept.then(() => new Promise<never>(() => undefined));
    return Promise.race([wanted, givenUp]);
  }

  async #bothArrived(): Promise<Addresses> {
    for (;;) {
      const { kernel, tickets } = this.#addresses;
      if (kernel !== undefined && tickets !== undefined) return { kernel, tickets };
      await new Promise<void>((resolve) => {
        this.#tellReady = resolve;
      });
    }
  }

  #arrive(who: keyof Addresses, url: string): void {
    this.#addresses[who] = url;
    this.#tellReady();
  }

  #ticketsSpec(): KeptSpec {
    let port = 0;
    return this.#spec("tickets", "listening", {
      command: () => {
        const flags = ["--dir", ticketsFolder, "--port", `${port}`, "--exit-with-parent"];
        return { command: [ticketService, ...flags] };
      },
      ready: ({ listening }) => {
        // Workers know the address: the next life of the service must have the same one.
        port = Number(listening);
        this.#arrive("tickets", urlOf(port));
        return `ready at ${urlOf(port)}, books in ./${ticketsFolder}`;
      },
    });
  }

  #workerSpec(addresses: Addresses, onReady: () => void): KeptSpec {
    const env = { PAWL_URL: addresses.kernel, TICKETS_URL: addresses.tickets };
    return this.#spec("worker", "serving", {
      command: () => ({ command: [exampleWorker], env }),
      ready: ({ serving }) => {
        onReady();
        return `ready, serves ${Array.isArray(serving) ? serving.join(", ") : "its tasks"}`;
      },
    });
  }

  #spec(
    name: Exclude<Speaker, "">,
    readyField: string,
    parts: {
      readonly command: () => ChildOptions;
      readonly ready: (said: Readonly<Record<string, unknown>>) => string;
    },
  ): KeptSpec {
    return {
      name,
      readyField,
      start: (stopping) => startChild({ ...parts.command(), onLine: tellErrors(name, stopping) }),
      onReady: (said, { pid }) => {
        this.#pids.set(name, pid);
        say(name, `${parts.ready(said)} (process ${pid})`);
      },
      whyHopeless: ({ code }) => (code === notLetInCode ? tokenHint : undefined),
      say: (text) => say(name, text),
    };
  }
}
