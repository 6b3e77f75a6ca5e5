import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, connect, type Run } from "@pawl/sdk";
import { type Child, startChild } from "../processes/child.js";
import { demoAgent, demoWorker, pawlCommand, ticketService } from "../processes/paths.js";
import {
  type HoldPoint,
  type SinkMode,
  type TicketClient,
  ticketClient,
} from "../ticket-service/client.js";
import type { ApprovalSettings, MergeSettings, Serves } from "./child-settings.js";
import { gather } from "./gather.js";
import { demoPlan } from "./plan.js";
import { expectedMerges, type Window } from "./windows.js";

/** One line of the demo: a window, tried at one kind of sink. */
export interface Row {
  readonly window: Window;
  readonly sink: SinkMode;
}

/** A line was not tried as it should be: something never came. */
export class SceneError extends Error {
  override readonly name = "SceneError";
  readonly code = "PAWL_DEMO_SCENE";
}

const url = (port: unknown): string => `http://127.0.0.1:${port}`;

/** The stage of one line: a folder, real processes, and the sink with books of its own. */
export class Scene {
  readonly row: Row;
  readonly runId: string;
  /** Title of the order. */
  readonly title: string;
  readonly tickets: TicketClient;
  /** What workers are told from now on about asking a person; undefined: they need not ask. */
  approval: ApprovalSettings | undefined;
  /** What processes that serve the function that merges are told from now on. */
  merge: MergeSettings | undefined;
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #children = new Set<Child>();
  readonly #killed: string[] = [];
  /** Tokens by the name of their principal. Empty: the kernel asks for none. */
  readonly #tokens = new Map<string, string>();
  readonly #clients = new Map<string, Client>();
  #port = 0;

  private constructor(row: Row, folder: string, parts: { service: Child; port: number }) {
    const livesOn = row.window.startsWith("kernel-");
    this.row = row;
    this.runId = `${row.window}-${row.sink}`;
    this.title = `Demo ${this.runId}`;
    this.tickets = ticketClient(url(parts.port));
    this.#folder = folder;
    this.#children.add(parts.service);
    this.#env = {
      TICKETS_URL: url(parts.port),
      DEMO_SINK: row.sink,
      // In the kernel's windows the worker lives: neither its lease nor its call may end on a busy machine.
      ...(livesOn ? { DEMO_LEASE: "long", DEMO_CALL: "long" } : {}),
    };
  }

  /** Makes the folder and starts the sink. */
  static async open(row: Row): Promise<Scene> {
    const folder = await mkdtemp(join(tmpdir(), "pawl-demo-"));
    const flags = ["--dir", join(folder, "tickets"), "--port", "0", "--exit-with-parent"];
    const service = startChild({ command: [ticketService, ...flags] });
    const { listening } = await mustSay(service, "listening");
    return new Scene(row, folder, { service, port: Number(listening) });
  }

  /** Who was killed so far, in order. */
  get killed(): readonly string[] {
    return this.#killed;
  }

  /** The address of the kernel; the same after each start. */
  get url(): string {
    return url(this.#port);
  }

  /** The title that a ticket must bear: what workers make of the order now. */
  get finalTitle(): string {
    const merged = expectedMerges[this.row.window]?.suffix ?? "";
    return `${this.title}${this.approval?.suffix ?? ""}${merged}`;
  }

  /** The file whose presence arms the crash point. */
  get armFile(): string {
    return join(this.#folder, "armed");
  }

  /** Starts the kernel on the folder. With a crash point it may end before it is ready. */
  startKernel(env: Readonly<Record<string, string>> = {}): Child {
    const flags = ["--dir", join(this.#folder, "kernel"), "--port", `${this.#port}`];
    const command = [pawlCommand, "serve", ...flags, "--json", "--exit-with-parent"] as const;
    return this.#add(startChild({ command, env }));
  }

  /** Starts the kernel, and waits until it is ready. */
  async startReadyKernel(env: Readonly<Record<string, string>> = {}): Promise<Child> {
    const kernel = this.startKernel(env);
    const { listening } = await mustSay(kernel, "listening");
    if (typeof listening === "object" && listening !== null && "port" in listening) {
      this.#port = Number(listening.port);
    }
    return kernel;
  }

  /** Starts a worker; one that does not serve all leaves the run open behind the effect. */
  async startWorker(serves: Serves): Promise<Child> {
    const token = this.#tokens.get("worker");
    const env = {
      ...this.#env,
      PAWL_URL: this.url,
      DEMO_SERVES: serves,
      ...(token === undefined ? {} : { PAWL_TOKEN: token }),
      ...(this.approval === undefined ? {} : { DEMO_APPROVAL: JSON.stringify(this.approval) }),
      ...(this.merge === undefined ? {} : { DEMO_MERGE: JSON.stringify(this.merge) }),
    };
    const worker = this.#add(startChild({ command: [demoWorker], env }));
    await mustSay(worker, "serving");
    return worker;
  }

  /** Starts the single agent, which starts the run itself. */
  startAgent(serves: "all" | "effect"): Child {
    const env = {
      ...this.#env,
      PAWL_DIR: join(this.#folder, "kernel"),
      DEMO_SERVES: serves,
      DEMO_RUN: this.runId,
      DEMO_TITLE: this.title,
    };
    return this.#add(startChild({ command: [demoAgent], env }));
  }

  /** Makes a token; from the first one on the kernel asks for them. Workers use that of `worker`, the demo itself that of `client`. */
  async makeToken(name: string, role: string): Promise<void> {
    const flags = ["--dir", join(this.#folder, "kernel"), "--name", name, "--role", role];
    const child = this.#add(
      startChild({ command: [pawlCommand, "token", "create", ...flags, "--json"] }),
    );
    const { token } = await mustSay(child, "token");
    this.#tokens.set(name, `${token}`);
    await child.ended;
    this.#children.delete(child);
  }

  /** How to reach the kernel as somebody, with the token of that name if there is one. */
  addressAs(name: string): { readonly url: string; readonly token?: string } {
    const token = this.#tokens.get(name);
    return { url: this.url, ...(token === undefined ? {} : { token }) };
  }

  /** A client of the kernel, as somebody who may have a token. */
  clientAs(name: string): Client {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const made = connect({ ...this.addressAs(name), onConnection: () => undefined });
    this.#clients.set(name, made);
    return made;
  }

  /** Starts the run at the kernel, or finds it. */
  startRun(): Promise<Run> {
    const merges = expectedMerges[this.row.window] !== undefined;
    const order = { title: this.title };
    const started = { runId: this.runId };
    const client = this.clientAs("client");
    return merges ? client.start(gather, order, started) : client.start(demoPlan, order, started);
  }

  /** Stops the next call at the sink. */
  hold(point: HoldPoint): Promise<string> {
    return this.tickets.hold({ point, mode: this.row.sink });
  }

  /** Waits until the call stands there. */
  async untilHeld(holdId: string): Promise<void> {
    const held = await this.tickets.held(30_000, { holdId });
    if (held.length !== 1)
      throw new SceneError("expected a call at the sink, but none came in 30 s");
  }

  /** Kills a child for real, and notes it. */
  async kill(name: string, child: Child): Promise<void> {
    child.kill("SIGKILL");
    await this.diesByItself(name, child);
  }

  /** Waits until a child has killed itself at its crash point, and notes it. */
  async diesByItself(name: string, child: Child): Promise<void> {
    this.#killed.push(name);
    const { code, signal, lastErrors } = await child.ended;
    this.#children.delete(child);
    if (signal === "SIGKILL") return;
    const errors = lastErrors.join("\n");
    throw new SceneError(`expected the ${name} to be killed, but it ended with ${code}: ${errors}`);
  }

  /** Makes the crash point count from now on. */
  arm(): Promise<void> {
    return writeFile(this.armFile, "");
  }

  /** Ends what still runs, and removes the folder. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close({ drainMs: 0 })));
    for (const child of this.#children) child.kill("SIGKILL");
    await Promise.all([...this.#children].map((child) => child.ended));
    await rm(this.#folder, { recursive: true, force: true });
  }

  #add(child: Child): Child {
    this.#children.add(child);
    return child;
  }
}

async function mustSay(child: Child, field: string): Promise<Readonly<Record<string, unknown>>> {
  const said = await child.says(field);
  if (said !== undefined) return said;
  const { lastErrors } = await child.ended;
  throw new SceneError(`a process of the demo ended before it was ready: ${lastErrors.join("\n")}`);
}
