import {
  type Operation,
  OperationSchema,
  OperationStatus,
  OperationStatusSchema,
} from "@pawl/proto/v1/operation_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { enumChoices } from "../format/enum-word.js";
import {
  OPERATION_HEADINGS,
  operationFields,
  operationHeadline,
  operationRow,
} from "../format/operation.js";
import { count } from "../format/text.js";
import { addKernelOptions, enumWordOption, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, printList, ROWS_DEFAULT, readList } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { printApproval, printCalls } from "./op-walk.js";

interface ListOptions extends KernelOptions {
  readonly status?: OperationStatus;
  readonly limit: number;
}

/** `pawl op …`: the ledger. */
export function addOpCommands(program: Command, context: CliContext): void {
  const group = program.command("op").description("read the ledger of external effects");
  const show = group
    .command("show")
    .description("show one operation with its request and outcome")
    .argument("<key>", "the operation key");
  addKernelOptions(show).action((key: string, options: KernelOptions) =>
    withKernel(context, options, (session) => showOperation(session, key)),
  );
  const list = group
    .command("list")
    .description(
      "list the operations of a run in the order in which they were begun, or those of all runs",
    )
    .argument("[run]", "only operations of this run")
    .option(
      "--status <status>",
      `only operations in this state: ${enumChoices(OperationStatusSchema).join(", ")}`,
      enumWordOption(OperationStatusSchema),
    )
    .option("--limit <count>", "most operations to list", wholeNumber(1, LIMIT_MAX), ROWS_DEFAULT);
  addKernelOptions(list).action((runId: string | undefined, options: ListOptions) =>
    withKernel(context, options, (session) => listOperations(session, runId, options)),
  );
}

async function showOperation(session: KernelSession, key: string): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const { operation } = await kernel.operations.getOperation(
    { namespace, key },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (operation === undefined) {
    throw new Error(`Expected operation "${key}" in the answer, but it is absent`);
  }
  if (out.isJson) {
    out.message(OperationSchema, operation);
    return;
  }
  const { runId, task, reviewId, proposalId } = operation;
  out.lines(operationHeadline(operation, out.style));
  out.fields(operationFields(operation, out.clock));
  if (proposalId !== "") await printApproval(session, proposalId);
  if (runId !== "") await printCalls(session, operation);
  const ofRun = runId === "" ? [] : ["--run", runId];
  out.next([
    ...(proposalId === "" ? [] : [followUps.command("approvals show", [proposalId])]),
    ...(reviewId === "" ? [] : [followUps.command("reviews list", [], ofRun)]),
    ...(task === "" ? [] : [followUps.command("task show", [runId, task])]),
    ...(runId === "" ? [] : [followUps.command("report", [runId])]),
  ]);
}

async function listOperations(
  session: KernelSession,
  runId: string | undefined,
  { status = 0, limit }: ListOptions,
): Promise<void> {
  const { kernel, namespace } = session;
  const list = await readList(limit, async (page) => {
    const answer = await kernel.operations.listOperations(
      { namespace, runId: runId ?? "", status, ...page },
      { timeoutMs: CALL_TIMEOUT_MS },
    );
    return { items: answer.operations, nextPageToken: answer.nextPageToken };
  });
  printList(session.out, list, {
    schema: OperationSchema,
    noun: "operation",
    print: (operations) => printOperations(session, operations, orderOf(runId, status)),
  });
}

/** In which order the kernel lists them. */
function orderOf(runId: string | undefined, status: OperationStatus): string {
  if (runId !== undefined) return "in the order in which they were begun";
  return UNSETTLED.includes(status) ? "the oldest run's first" : "in no order of time";
}

const UNSETTLED: readonly OperationStatus[] = [
  OperationStatus.INTENDED,
  OperationStatus.IN_DOUBT,
  OperationStatus.NEEDS_REVIEW,
];

function printOperations(
  { out, followUps }: KernelSession,
  operations: readonly Operation[],
  order: string,
): void {
  const [first] = operations;
  if (first === undefined) {
    out.lines("No operation matches.");
    return;
  }
  out.lines(`${count(operations.length, "operation")}, ${order}.`);
  out.table(
    OPERATION_HEADINGS,
    operations.map((operation) => operationRow(operation, out.clock)),
  );
  out.next([followUps.command("op show", [first.key])]);
}
