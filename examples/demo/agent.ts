/* The single agent that the demo kills: kernel and worker in one process, on the folder PAWL_DIR. */
import { openKernel } from "@pawl/sdk";
import { stdinClosed } from "../processes/stdin-closed.js";
import { readChildSettings } from "./child-settings.js";
import { demoPlan } from "./plan.js";
import { servedTasks } from "./tasks.js";

const kernel = await openKernel({ dir: process.env["PAWL_DIR"] ?? "" });
const worker = await kernel.worker({ serve: servedTasks(readChildSettings()) });
const order = { title: process.env["DEMO_TITLE"] ?? "" };
const run = await kernel.start(demoPlan, order, { runId: process.env["DEMO_RUN"] ?? "" });

const tell = async (): Promise<void> => {
  for await (const { type, task } of run.watch()) {
    process.stdout.write(`${JSON.stringify({ [`${type} ${task}`.trim()]: true })}\n`);
  }
};
void tell().catch((error: unknown) => process.stderr.write(`watching ended: ${error}\n`));

await stdinClosed();
setTimeout(() => process.exit(0), 5_000).unref();
await worker.close({ drainMs: 1_000 });
await kernel.close();
