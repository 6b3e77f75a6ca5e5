import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { PawlClient } from "@pawl/sdk/client";
import { found } from "./gather.js";
import type { ExpectedMerge } from "./windows.js";

/** Compares what became of the tasks that a function called with what must. Empty when all is right, else what is wrong, for people. */
export async function judgeMerge(
  client: PawlClient,
  runId: string,
  { givenUp }: ExpectedMerge,
): Promise<string> {
  const problems: string[] = [];
  for (const what of found) {
    const name = `found/${what}/demo.look`;
    const { task } = await client.runs.getTask({ runId, task: name });
    const { status = TaskStatus.UNSPECIFIED, attempt = 0 } = task ?? {};
    // Who comes late may come before it is told that nobody waits for it: it ends then, and is not merged.
    const isGivenUp = givenUp.includes(what) && status === TaskStatus.CANCELLED;
    if (status !== TaskStatus.COMPLETED && !isGivenUp) {
      problems.push(`task "${name}" is in state ${status}`);
    }
    if (attempt > 1) problems.push(`task "${name}" was done ${attempt} times`);
  }
  return problems.join("; ");
}
