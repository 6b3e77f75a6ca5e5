import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Task } from "@pawl/proto/v1/run_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import {
  type Client,
  connect,
  json,
  PawlError,
  RetryAfter,
  type Run,
  task,
  type Worker,
} from "@pawl/sdk";
import { createPawlClient, type PawlClient } from "@pawl/sdk/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KernelProcess, type KernelSettings, startKernel } from "./support/crashing-kernel.js";

let dir: string;
let kernels: KernelProcess[];
let client: Client | undefined;
let api: PawlClient | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-crash-"));
  kernels = [];
});

afterEach(async () => {
  await client?.close({ drainMs: 0 });
  api?.close();
  for (const kernel of kernels) kernel.kill();
  await Promise.all(kernels.map((kernel) => kernel.ended));
  await rm(dir, { recursive: true, force: true });
  client = undefined;
  api = undefined;
});

interface Started {
  readonly kernel: KernelProcess;
  readonly port: number;
}

async function start(settings: KernelSettings = {}): Promise<Started> {
  const kernel = startKernel(join(dir, "store"), settings);
  kernels.push(kernel);
  const port = await kernel.port;
  if (port === undefined) throw new Error(`it did not listen: ${(await kernel.ended).errors}`);
  return { kernel, port };
}

/** What a command is sent with. */
interface Hands {
  readonly client: Client;
  readonly api: PawlClient;
  readonly run: Run<string>;
  /** How often the handler was called. */
  readonly calls: () => number;
  /** Begins to serve. */
  serve(): Promise<Worker>;
  /** The one task, when it is so. */
  untilTask(isSo: (seen: Task) => boolean): Promise<Task>;
}

/** A command whose kernel is killed around it. */
interface Deed {
  readonly name: string;
  /** How the history tells it. */
  readonly event: string;
  /** How the first calls of the handler fail, one after the other; the next try is an hour away. */
  readonly failures?: readonly Error[];
  /** Brings the run to where the command fits. */
  prepare(hands: Hands): Promise<void>;
  /** Sends it until it is answered. */
  send(hands: Hands): Promise<void>;
  /** What the run is like once it was answered. */
  readonly status: RunStatus;
  /** Lets the run end. */
  finish(hands: Hands): Promise<void>;
  /** What it ends with, in which incarnation, and after how many calls. */
  readonly end: {
    /** The code of the failure when it fails. */
    readonly output: string;
    readonly incarnation: number;
    readonly calls: number;
  };
}

const done = { output: "done", incarnation: 1, calls: 1 };
const serves = async ({ serve }: Hands): Promise<void> => void (await serve());
const nothing = async (): Promise<void> => undefined;

/** How a call ends whose kernel is away, or goes away. */
const unanswered: ReadonlySet<Code> = new Set([Code.Unavailable, Code.Canceled]);

/** The generated client does not send again what a kernel that went away did not answer. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!unanswered.has(ConnectError.from(error).code)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

type Change = NonNullable<Parameters<PawlClient["runs"]["changeTask"]>[0]["change"]>;

/** Changes the task as it was seen: sent again, it is the same request. */
function changes(change: Change, isSo: (seen: Task) => boolean) {
  return async ({ api: using, untilTask, run: { runId } }: Hands): Promise<void> => {
    const { version: expectedVersion } = await untilTask(isSo);
    const request = { runId, task: "main", expectedVersion, reason: "by hand", change };
    await untilAnswered(() => using.runs.changeTask(request));
  };
}

const isTired = ({ status }: Task): boolean => status === TaskStatus.BACKOFF;
const byHand = {
  contentType: "application/json",
  body: { case: "data", value: Buffer.from('"by hand"') },
} as const;

const deeds: readonly Deed[] = [
  {
    ...{ name: "PauseRun", event: "RunPaused", status: RunStatus.PAUSED, end: done },
    prepare: nothing,
    send: async ({ run }) => void (await run.pause({ reason: "look" })),
    finish: async (hands) => {
      await hands.run.resume();
      await hands.serve();
    },
  },
  {
    ...{ name: "ResumeRun", event: "RunResumed", status: RunStatus.RUNNING, end: done },
    prepare: async ({ run }) => void (await run.pause({ reason: "look" })),
    send: async ({ run }) => void (await run.resume()),
    finish: serves,
  },
  {
    ...{ name: "ChangeTask: run it now", event: "TaskChanged" },
    failures: [new RetryAfter("1h")],
    ...{ status: RunStatus.RUNNING, end: { ...done, calls: 2 } },
    prepare: async (hands) => {
      await hands.serve();
      await hands.untilTask(isTired);
    },
    send: changes({ case: "runNow", value: {} }, isTired),
    finish: nothing,
  },
  {
    ...{ name: "ChangeTask: complete it", event: "TaskChanged", status: RunStatus.COMPLETED },
    prepare: nothing,
    send: changes({ case: "complete", value: { output: byHand } }, () => true),
    finish: serves,
    end: { ...done, output: "by hand", calls: 0 },
  },
  {
    ...{ name: "ChangeTask: fail it", event: "TaskChanged", status: RunStatus.FAILED },
    prepare: nothing,
    send: changes({ case: "fail", value: {} }, () => true),
    finish: serves,
    end: { ...done, output: "PAWL_RUN_FAILED", calls: 0 },
  },
  {
    ...{ name: "ChangeTask: reset its attempts", event: "TaskChanged", status: RunStatus.RUNNING },
    // Of two attempts: without the reset the second failure is the last.
    failures: [new Error("once"), new Error("twice")],
    prepare: async (hands) => {
      await hands.serve();
      await hands.untilTask(isTired);
    },
    send: changes({ case: "resetAttempts", value: {} }, isTired),
    finish: async (hands) => {
      await changes({ case: "runNow", value: {} }, isTired)(hands);
      await changes({ case: "runNow", value: {} }, isTired)(hands);
    },
    end: { ...done, calls: 3 },
  },
  {
    ...{ name: "ChangeTask: change its policy", event: "TaskChanged", status: RunStatus.RUNNING },
    // The plan allows two attempts, an hour apart.
    failures: [new Error("once")],
    prepare: nothing,
    send: changes({ case: "policy", value: { retry: { attemptsMax: 1 } } }, () => true),
    finish: serves,
    end: { ...done, output: "PAWL_RUN_FAILED", calls: 1 },
  },
  {
    ...{ name: "StartRun: replace_open", event: "RunRestarted", status: RunStatus.RUNNING },
    prepare: nothing,
    // What a run that has ended begins again with is killed in `start-again.test.ts`.
    send: async ({ client: using, run: { runId } }) => {
      const options = { runId, onExisting: "replace_open", requestId: "again" } as const;
      const again = await using.start(
        served(() => "done"),
        undefined,
        options,
      );
      expect(again.incarnation).toBe(2);
    },
    finish: serves,
    end: { output: "done", incarnation: 2, calls: 1 },
  },
];

function served(handler: () => string) {
  const retry = { attempts: 2, initial: "1h", max: "1h", jitter: 0 } as const;
  return task("work", { output: json<string>(), retry }).run(handler);
}

async function takeHands(port: number, deed: Pick<Deed, "failures">): Promise<Hands> {
  const url = `http://127.0.0.1:${port}`;
  const using = connect({ url, onConnection: () => undefined });
  client = using;
  const generated = createPawlClient({ url });
  api = generated;
  let calls = 0;
  const work = served(() => {
    calls++;
    const failure = deed.failures?.[calls - 1];
    if (failure !== undefined) throw failure;
    return "done";
  });
  const run = await using.start(work, undefined, { runId: "r" });
  return {
    ...{ client: using, api: generated, run, calls: () => calls },
    serve: () => using.worker({ serve: [work], slots: 1 }),
    untilTask: async (isSo) => {
      for (;;) {
        const { task: seen } = await untilAnswered(() =>
          generated.runs.getTask({ runId: "r", task: "main" }),
        );
        if (seen !== undefined && isSo(seen)) return seen;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
}

/** @throws Error that says what was expected when the kernel never came to the boundary. */
async function requireDeathAt(point: string, { ended }: KernelProcess, around: string) {
  const { how, errors } = await ended;
  if (how !== "SIGKILL" || !errors.includes(`crash point ${point} reached`)) {
    throw new Error(
      `Expected the kernel to come to ${point} around ${around}, but it did not: it ended by ${how}. ${errors}`,
    );
  }
}

/**
 * What was before the command lies in rows, and nothing is written but what the command leads to: its commit, then the rows of it when the kernel is asked
 * to end after it has answered. So the first such boundary is one of the command.
 */
async function dieAround(deed: Deed, point: string): Promise<Hands> {
  const before = await start();
  const { port } = before;
  const hands = await takeHands(port, deed);
  await deed.prepare(hands);
  before.kernel.askToEnd();
  await before.kernel.ended;
  const crashWhen = join(dir, "now");
  const settings = { port, crashAt: point, crashWhen, checkpointAgeMs: 600_000 };
  const { kernel } = await start(settings);
  // An answer tells that all that a start commits is durable.
  await untilAnswered(() => hands.api.runs.getRun({ runId: "r" }));
  await writeFile(crashWhen, "");
  const sent = deed.send(hands);
  const isAnswered = sent.finally(() => kernel.askToEnd());
  await Promise.all([
    requireDeathAt(point, kernel, deed.name).then(() => start({ port })),
    isAnswered,
  ]);
  return hands;
}

/** The kernel is killed when it has answered; the next one dies while it starts. */
async function dieAfter(deed: Deed, point: string): Promise<Hands> {
  const { kernel, port } = await start();
  const hands = await takeHands(port, deed);
  await deed.prepare(hands);
  await deed.send(hands);
  kernel.kill();
  await kernel.ended;
  const dying = startKernel(join(dir, "store"), { port, crashAt: point });
  kernels.push(dying);
  await requireDeathAt(point, dying, deed.name);
  await start({ port });
  return hands;
}

function codeOf(error: unknown): string {
  return error instanceof PawlError ? error.code : String(error);
}

async function expectDoneOnce(deed: Deed, hands: Hands): Promise<void> {
  const { run, calls } = hands;
  const seen = await untilAnswered(() => hands.api.runs.getRun({ runId: "r" }));
  const after = deed.name.startsWith("ChangeTask: run") ? expect.any(Number) : deed.status;
  expect(seen.run?.status).toEqual(after);
  // As long as the run goes on, other commands of an operator may follow.
  const types: string[] = [];
  for await (const { events } of hands.api.runs.getHistory({ runId: "r" })) {
    types.push(...events.map(({ type }) => type));
  }
  expect(types.filter((type) => type === deed.event)).toEqual([deed.event]);
  await deed.finish(hands);
  const { output, incarnation, calls: expectedCalls } = deed.end;
  const ended = run.result({ timeout: "30s" });
  expect(await ended.catch((error: unknown) => codeOf(error))).toBe(output);
  const last = await hands.api.runs.getRun({ runId: "r" });
  expect(last.run?.incarnation).toBe(incarnation);
  expect(calls()).toBe(expectedCalls);
}

describe.each(deeds)("a kernel that is killed around $name", (deed) => {
  it.each([
    "segment:before",
    "segment:after",
    "checkpoint:before",
    "checkpoint:after",
    "close:before",
  ])("at %s: the next one has done it exactly once, and goes on", async (point) =>
    expectDoneOnce(deed, await dieAround(deed, point)),
  );

  it.each(["start:opened", "start:recovered"])(
    "and again at %s: what was answered is kept",
    async (point) => expectDoneOnce(deed, await dieAfter(deed, point)),
  );
});

it("a boundary that is not reached fails, and says which", async () => {
  const pause = deeds[0];
  if (pause === undefined) throw new Error("no deed");
  // Nothing here is long enough to be kept apart from the log.
  await expect(dieAround(pause, "blob:before")).rejects.toThrow(
    "Expected the kernel to come to blob:before around PauseRun, but it did not: it ended by exit code 0.",
  );
});
