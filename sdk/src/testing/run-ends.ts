import { inspect, isDeepStrictEqual } from "node:util";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { TestEnvironment } from "./environment.js";
import { messageOf } from "./errors.js";
import type { SinkEffect } from "./test-sink.js";

/** How one execution of a test's body ended, as far as anyone outside can see. */
export interface BodyEnd {
  /** What the body returned. */
  readonly returned: unknown;
  /** Every run: its workflow, and what it gave. */
  readonly runs: readonly string[];
  /** Every sink: what it did, how often. */
  readonly sinks: readonly string[];
  /** Effects of all sinks together. */
  readonly effects: number;
  /** Effects of operations that reached no test sink. Not compared. */
  readonly calls: readonly SinkEffect[];
}

/** Looks at everything that a body has left. */
export async function readEnd(env: TestEnvironment, returned: unknown): Promise<BodyEnd> {
  await env.settle();
  const names = new Map<string, string>();
  const runs: string[] = [];
  for (const { runId, workflow, status } of await listRuns(env)) {
    names.set(runId, `run ${names.size + 1}`);
    const state =
      status === RunStatus.RUNNING ? await whyOf(env, runId) : await resultOf(env, runId);
    runs.push(`${workflow}: ${state}`);
  }
  const nameless = (text: string): string => {
    let named = text;
    for (const [runId, name] of names) named = named.replaceAll(runId, `<${name}>`);
    return named;
  };
  const sinks: string[] = [];
  let effects = 0;
  for (const sink of env.sinks) {
    for (const { key, times } of env.effects(sink)) {
      effects += times;
      sinks.push(`${sink.name}: ${nameless(key)} × ${times}`);
    }
  }
  return { returned, runs: runs.map(nameless), sinks: sinks.sort(), effects, calls: env.calls };
}

/** What an end differs by from that of the undisturbed execution. Undefined: by nothing. */
export function differenceOf(end: BodyEnd, undisturbed: BodyEnd): string | undefined {
  if (!isDeepStrictEqual(end.sinks, undisturbed.sinks)) {
    return `sinks did ${list(end.sinks)}, undisturbed ${list(undisturbed.sinks)}`;
  }
  if (!isDeepStrictEqual(end.runs, undisturbed.runs)) {
    return `runs ended as ${list(end.runs)}, undisturbed ${list(undisturbed.runs)}`;
  }
  return isDeepStrictEqual(end.returned, undisturbed.returned)
    ? undefined
    : `the body returned ${show(end.returned)}, undisturbed ${show(undisturbed.returned)}`;
}

function list(items: readonly string[]): string {
  return items.length === 0 ? "nothing" : `[${items.join("; ")}]`;
}

function show(value: unknown): string {
  return inspect(value, { depth: 4, breakLength: Number.POSITIVE_INFINITY });
}

interface ListedRun {
  readonly runId: string;
  readonly workflow: string;
  readonly status: RunStatus;
}

/** In the order in which they were started. */
async function listRuns(env: TestEnvironment): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  let pageToken = "";
  do {
    const page = await env.kernel.api.runs.listRuns({ pageSize: 500, pageToken });
    found.push(...page.runs);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found.reverse();
}

async function resultOf(env: TestEnvironment, runId: string): Promise<string> {
  try {
    return `completed with ${show(await env.kernel.run(runId).result())}`;
  } catch (error) {
    return messageOf(error);
  }
}

async function whyOf(env: TestEnvironment, runId: string): Promise<string> {
  return `open: ${(await env.kernel.run(runId).get()).why}`;
}
