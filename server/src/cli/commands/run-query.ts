import { PublishedValueSchema, QueryRunResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { payloadField } from "../format/payload.js";
import { clean, count } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

/** `pawl run query RUN [NAME]`. */
export function addRunQuery(group: Command, context: CliContext): void {
  const command = group
    .command("query")
    .description("print what the code of a run published last under a name; also after its end")
    .argument("<run>", "id of the run")
    .argument("[name]", "name under which it is published (default: list all, without the values)");
  addKernelOptions(command).action(
    (runId: string, name: string | undefined, options: KernelOptions) =>
      withKernel(context, options, (session) =>
        name === undefined ? listPublished(session, runId) : printPublished(session, runId, name),
      ),
  );
}

async function printPublished(
  { kernel, namespace, out }: KernelSession,
  runId: string,
  name: string,
): Promise<void> {
  const request = { namespace, runId, name };
  const answer = await kernel.runs.queryRun(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (out.isJson) {
    out.json({ runId, ...messageFields(QueryRunResponseSchema, answer) });
    return;
  }
  const { version, task, attempt } = answer.published ?? { version: 0, task: "", attempt: 0 };
  out.lines(
    `${out.style("bold", clean(name))}, version ${version}, published ${formatTime(answer.published?.publishedAt, out.clock)} by attempt ${attempt} of task "${clean(task)}":`,
  );
  out.fields([["value", payloadField(answer.value)]]);
}

async function listPublished(
  { kernel, namespace, out, followUps }: KernelSession,
  runId: string,
): Promise<void> {
  const request = { namespace, runId };
  const { published } = await kernel.runs.listQueries(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (out.isJson) {
    for (const each of published) out.message(PublishedValueSchema, each);
    return;
  }
  if (published.length === 0) {
    out.lines("The code of the run has published nothing, yet.");
    out.next([followUps.command("run show", [runId])]);
    return;
  }
  out.table(
    ["NAME", "VERSION", "PUBLISHED", "TASK", "SIZE"],
    published.map((each) => [
      clean(each.name),
      `${each.version}`,
      formatTime(each.publishedAt, out.clock),
      clean(each.task),
      count(each.valueBytes, "byte"),
    ]),
  );
  out.next([followUps.command("run query", [runId, published[0]?.name ?? ""])]);
}
