import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import type { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { HoldPoint, SinkMode } from "../../../examples/ticket-service/client.js";
import { startPawl } from "../../cli/support/pawl-process.js";
import { startTicketProcess, type TicketProcess } from "../../examples/ticket-process.js";
import { json } from "../../rpc/support/fixtures.js";
import { GrpcClient } from "../../rpc/support/grpc-client.js";
import { python } from "../../support/python.js";

const { method } = RunService;
const { method: approvals } = ApprovalService;
const programs = fileURLToPath(new URL("../../../examples/python/", import.meta.url));
const program = join(programs, "tickets.py");

/** How long things may take. */
export interface Times {
  readonly leaseSeconds: bigint;
  /** One call of the sink. */
  readonly callMs: number;
  /** Who must approve the ticket first. Absent: nobody. */
  readonly approvers?: readonly string[];
  readonly requesterMayDecide?: boolean;
  /** Who is asked how bad it is. Absent: nobody. */
  readonly ask?: string;
}

/** A process of the stage. */
export interface Actor {
  /** Kills it for real, and waits until it is gone. */
  kill(): Promise<void>;
}

/** Kernel, ticket service and Python workers of one test, in processes of their own, in a folder that goes with them. */
export class Stage {
  readonly tickets: TicketProcess;
  readonly #folder: string;
  readonly #children = new Set<ChildProcess>();
  #client: GrpcClient | undefined;
  #port = 0;

  private constructor(folder: string, tickets: TicketProcess) {
    this.#folder = folder;
    this.tickets = tickets;
  }

  static async open(): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "pawl-python-"));
    const flags = ["--dir", join(folder, "tickets"), "--port", "0"];
    return new Stage(folder, await startTicketProcess(flags));
  }

  /** A client of the kernel that listens now or will. */
  get client(): GrpcClient {
    if (this.#client === undefined) {
      throw new Error("Expected a kernel first.");
    }
    return this.#client;
  }

  /** Starts the kernel on the stage's data folder, at the same port each time, and waits until it listens. */
  async kernel(): Promise<Actor> {
    const flags = ["--dir", join(this.#folder, "data"), "--port", `${this.#port}`];
    const { child, line } = startPawl(this.#folder, ["serve", ...flags, "--json", "--no-restart"]);
    this.#children.add(child);
    const said: { listening: { port: number } } = JSON.parse(await line(1));
    this.#port = said.listening.port;
    this.#client ??= new GrpcClient(this.#port);
    return { kill: () => this.#kill(child) };
  }

  /** Starts a Python worker and waits until it serves. */
  async worker(serves: readonly string[] = ["python.file", "python.confirm"]): Promise<Actor> {
    const env = {
      ...process.env,
      PAWL_ADDRESS: `127.0.0.1:${this.#port}`,
      TICKETS_URL: this.tickets.baseUrl,
      SERVES: serves.join(","),
    };
    const child = spawn(python, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#children.add(child);
    let errors = "";
    child.stderr.on("data", (data) => {
      errors += String(data);
    });
    const first = once(createInterface(child.stdout), "line");
    const gone = once(child, "close").then(() => {
      throw new Error(`the Python worker ended before it served: ${errors}`);
    });
    await Promise.race([first, gone]);
    gone.catch(() => undefined);
    return { kill: () => this.#kill(child) };
  }

  /** Runs lines of Python beside `worker.py`, and gives the lines that they print. */
  async python(...lines: readonly string[]): Promise<string[]> {
    const env = { ...process.env, PAWL_ADDRESS: `127.0.0.1:${this.#port}`, PYTHONPATH: programs };
    const run = promisify(execFile);
    const { stdout } = await run(python, ["-c", lines.join("\n")], { env, timeout: 50_000 });
    return stdout.split("\n");
  }

  /** Starts a run that files one ticket and confirms it. */
  async startRun(sink: SinkMode, { leaseSeconds, ...more }: Times): Promise<void> {
    const lease = { seconds: leaseSeconds };
    const tasks = [
      { name: "file", kind: "python.file", timeouts: { lease } },
      { name: "confirm", kind: "python.confirm", needs: ["file"], timeouts: { lease } },
    ];
    const input = json({ sink, title: `From Python, ${sink}`, ...more });
    const run = { runId: "r", workflow: "python", plan: { tasks, output: "confirm" }, input };
    await this.client.unary(method.startRuns, { runs: [run] });
  }

  /** Stops the next call at the sink. */
  hold(point: HoldPoint): Promise<string> {
    return this.tickets.client.hold({ point });
  }

  /** Waits until the call stands there. */
  async untilHeld(holdId: string): Promise<void> {
    const held = await this.tickets.client.held(60_000, { holdId });
    if (held.length !== 1) {
      throw new Error("Expected a call at the sink, but none came.");
    }
  }

  /** Waits until the run has ended or a person must decide; the answer is what became of it. */
  async settled(): Promise<"completed" | "failed" | "needs-review"> {
    for (;;) {
      for await (const { events } of this.client.stream(method.watchRun, { runId: "r" })) {
        if (events.some(({ type }) => type === "ReviewOpened")) {
          return "needs-review";
        }
      }
      const { run } = await this.client.unary(method.getRun, { runId: "r" });
      return run?.status === RunStatus.COMPLETED ? "completed" : "failed";
    }
  }

  /** Waits until an event of this type and task is in the run's history. */
  async happened(type: string, task: string): Promise<void> {
    for await (const { events } of this.client.stream(method.watchRun, { runId: "r" })) {
      if (events.some((event) => event.type === type && event.task === task)) {
        return;
      }
    }
  }

  /** Decides about the only proposal, as it is shown. */
  async decide(verdict: ProposalVerdict): Promise<void> {
    const { proposals } = await this.client.unary(approvals.listProposals, { runId: "r" });
    const { proposalId = "", version = 0, fingerprint = new Uint8Array(0) } = proposals[0] ?? {};
    const decision = { proposalId, expectedVersion: version, fingerprint, verdict, reason: "seen" };
    await this.client.unary(approvals.decideProposal, decision);
  }

  /** Answers the only input request. */
  async answer(value: unknown): Promise<void> {
    const { inputs } = await this.client.unary(method.listInputs, { runId: "r" });
    const { inputId = "", version = 0 } = inputs[0] ?? {};
    const answer = { case: "given", value: json(value) } as const;
    await this.client.unary(method.provideInput, { inputId, expectedVersion: version, answer });
  }

  /** The labels of the tickets made. */
  async labels(): Promise<readonly (readonly string[] | undefined)[]> {
    const { tickets } = await this.tickets.client.books();
    return tickets.map(({ labels }) => labels);
  }

  /** What the sink's own books show: calls that arrived, and tickets made. */
  async books(): Promise<{ readonly calls: number; readonly effects: number }> {
    const { calls, effects } = await this.tickets.client.books();
    return { calls, effects };
  }

  /** Kills what still runs, and removes the folder. */
  async close(): Promise<void> {
    this.#client?.close();
    await Promise.all([...this.#children].map((child) => this.#kill(child)));
    await this.tickets.kill("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #kill(child: ChildProcess): Promise<void> {
    this.#children.delete(child);
    if (child.exitCode === null && child.signalCode === null) {
      const closed = once(child, "close");
      child.kill("SIGKILL");
      await closed;
    }
  }
}
