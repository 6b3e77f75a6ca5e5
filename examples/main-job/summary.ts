import { type GetRecoveryReportResponse, RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import type { Client } from "@pawl/sdk";
import { ticketClient } from "../ticket-service/client.js";
import { describeApproval } from "./approval.js";
import type { EndedRun } from "./driver.js";
import { say } from "./printer.js";

/** Tells how a run ended: its ids, the ticket, what the sink's own books say, and what recovery did. */
export async function tellSummary(
  client: Client,
  ended: EndedRun,
  ticketsUrl: string | undefined,
): Promise<void> {
  const { runId, outcome, wasOver } = ended;
  say("", "");
  say("", wasOver ? `Run ${runId} was finished already.` : `Run ${runId} is finished.`);
  if (outcome?.status === "filed") {
    const { id, title, key } = outcome.ticket;
    say("", `  ticket     ${id} "${title}"`);
    say("", `  approved   ${(await describeApproval(client, runId)) ?? "by nobody"}`);
    say("", `  operation  ${key}`);
    if (ticketsUrl !== undefined) say("", `  the books  ${await countAtSink(ticketsUrl, key)}`);
  } else if (outcome !== undefined) {
    const why = outcome.why === "" ? "" : `: ${outcome.why}`;
    say("", `  ticket     none; the proposal was ${outcome.status}${why}`);
  }
  say("", `  recovery   ${await describeRecovery(client, runId)}`);
  say("", "");
  say("", "Look further, in another terminal in this folder:");
  for (const command of commandsFor(ended)) say("", `  ${command}`);
  say("", "");
}

/** The commands that are printed. They run exactly as they stand; ids and keys of this example need no quotes. */
function commandsFor({ runId, outcome }: EndedRun): string[] {
  return [
    `npx --no pawl run show ${runId}`,
    `npx --no pawl why ${runId}`,
    ...(outcome?.status === "filed" ? [`npx --no pawl op show ${outcome.ticket.key}`] : []),
    `npx --no pawl approvals list --run ${runId}`,
    `npx --no pawl report ${runId}`,
  ];
}

/** How often the ticket was made, as the ticket service itself has written down. */
async function countAtSink(url: string, key: string): Promise<string> {
  const { byKey } = await ticketClient(url).books("idempotent");
  const { calls = 0, effects = 0 } = byKey[key] ?? {};
  const count = (number: number, noun: string): string =>
    `${number} ${noun}${number === 1 ? "" : "s"}`;
  return `the ticket service counts ${count(calls, "call")} and ${count(effects, "ticket")} under this key`;
}

/** A kernel that is killed in the middle of a call, again and again, is waited for as often as this. */
const triesMax = 5;

/** The generated client makes each call once; what waits for the next kernel is a call of the SDK. */
async function readRecovery(client: Client, runId: string): Promise<GetRecoveryReportResponse> {
  for (let tries = 1; ; tries++) {
    try {
      return await client.api.runs.getRecoveryReport({ runId });
    } catch (error) {
      if (tries === triesMax) throw error;
      await client.run(runId).get();
    }
  }
}

async function describeRecovery(client: Client, runId: string): Promise<string> {
  const report = await readRecovery(client, runId);
  const disturbed = report.lines.filter(({ class: kind }) => kind !== RecoveryClass.UNTOUCHED);
  const lines = disturbed.map(
    ({ task, operationKey, sentence }) =>
      `${operationKey === "" ? `task ${task}` : "tickets.create"}: ${sentence}`,
  );
  return [
    report.why,
    ...(lines.length > 0
      ? lines
      : ["Nothing had to be recovered: each task and the call ran once."]),
  ].join("\n             ");
}
