/* The worker that the demo kills: a process of its own, with the kernel at PAWL_URL. */
import { connect } from "@pawl/sdk";
import { stdinClosed } from "../processes/stdin-closed.js";
import { readChildSettings } from "./child-settings.js";
import { servedTasks } from "./tasks.js";

const { mode, servesAll, approval } = readChildSettings();
const { file, confirm } = servedTasks(mode, approval);
const { PAWL_URL: url = "", PAWL_TOKEN: token } = process.env;
const client = connect({ url, ...(token === undefined ? {} : { token }) });
const worker = await client.worker({ serve: servesAll ? [file, confirm] : [file] });
process.stdout.write(`${JSON.stringify({ serving: true })}\n`);

await stdinClosed();
setTimeout(() => process.exit(0), 2_000).unref();
await worker.close({ drainMs: 1_000 });
await client.close();
