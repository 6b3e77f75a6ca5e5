import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { type Client, NotFound, type Run, RunEnded, type RunEvent } from "@pawl/sdk";
import { incidentFile } from "../processes/paths.js";
import { tellProposal } from "./approval.js";
import { type Incident, incidentPlan, type TicketOutcome } from "./plan.js";
import { say } from "./printer.js";
import { nextRunId, readRunId, writeRunId } from "./run-id.js";

/** A run that has ended, however. */
export interface EndedRun {
  readonly runId: string;
  /** What became of the ticket; undefined when the run did not complete. */
  readonly outcome: TicketOutcome | undefined;
  /** True when it had ended before this process came. */
  readonly wasOver: boolean;
}

/** How to drive the run. */
export interface DriveOptions {
  /** Starts another run, though the present one may have ended. */
  readonly startsNew: boolean;
  /** Called when the run waits for a person, after it was told how to decide. */
  readonly onWait?: () => void;
}

/** Starts the run of this folder, or finds it, and tells what happens in it to the end. */
export async function driveRun(
  client: Client,
  { startsNew, onWait = () => undefined }: DriveOptions,
): Promise<EndedRun> {
  const runId = startsNew ? await findFreeRunId(client) : await readRunId();
  await writeRunId(runId);
  const report = await readFile(incidentFile, "utf8");
  const incident: Incident = { file: basename(incidentFile), report };
  const run = await client.start(incidentPlan, incident, { runId });
  const isOpen = (await run.get()).closedAt === undefined;
  const goesOn = run.existing === true;
  if (isOpen) {
    say("run", goesOn ? `${runId} goes on where it was` : `${runId} started over ${incident.file}`);
    await tellEvents(run, { client, onWait });
  }
  return { runId, outcome: await outcomeOf(run), wasOver: !isOpen };
}

/** The first id after the remembered one that no run has. */
async function findFreeRunId(client: Client): Promise<string> {
  for (let runId = await readRunId(); ; runId = nextRunId(runId)) {
    try {
      await client.run(runId).get();
    } catch (error) {
      if (error instanceof NotFound) return runId;
      throw error;
    }
  }
}

async function outcomeOf(run: Run<TicketOutcome>): Promise<TicketOutcome | undefined> {
  try {
    return await run.result();
  } catch (error) {
    if (error instanceof RunEnded) return undefined;
    throw error;
  }
}

async function tellEvents(
  run: Run,
  { client, onWait }: { readonly client: Client; readonly onWait: () => void },
): Promise<void> {
  const waited = new Set<string>();
  for await (const event of run.watch()) {
    const { type, task } = event;
    if (type === "ProposalMade" && (await tellProposal(client, event))) onWait();
    if (type === "TaskSuspended") waited.add(task);
    const goesOn = type === "TaskLeased" && waited.delete(task);
    const text = goesOn ? `${task}: goes on where it waited` : describe(event);
    if (text !== undefined) say("run", text);
  }
}

/** What of a run's history is worth a line here; `pawl run history` has all of it. */
function describe({ type, task, attempt, proposalId, detail }: RunEvent): string | undefined {
  switch (type) {
    case "TaskLeased":
      return `${task}: attempt ${attempt} begins`;
    case "LeaseEnded":
    case "AttemptFailed":
      return `${task}: ${detail}`;
    case "TaskCompleted":
      return `${task}: completed`;
    case "ProposalDecided":
    case "ProposalEnded":
      return `proposal ${proposalId}: ${detail}`;
    case "OperationIntended":
      return "tickets.create: approval used and intent durable, in one commit; now the service may be called";
    case "OperationObserved":
    case "OperationDoubted":
    case "OperationReconciled":
      return `tickets.create: ${detail}`;
    default:
      return undefined;
  }
}
