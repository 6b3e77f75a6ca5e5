/* The worker that the demo kills: a process of its own, with the kernel at PAWL_URL. */
import { connect } from "@pawl/sdk";
import { stdinClosed } from "../processes/stdin-closed.js";
import { readChildSettings } from "./child-settings.js";
import { servedTasks } from "./tasks.js";

const { PAWL_URL: url = "", PAWL_TOKEN: token } = process.env;
const client = connect({ url, ...(token === undefined ? {} : { token }) });
const worker = await client.worker({ serve: servedTasks(readChildSettings()) });
process.stdout.write(`${JSON.stringify({ serving: true })}\n`);

await stdinClosed();
setTimeout(() => process.exit(0), 2_000).unref();
await worker.close({ drainMs: 1_000 });
await client.close();
