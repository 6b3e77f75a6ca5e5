/*
 * The example worker, a process of its own: serves research, draft and ticket to the kernel at PAWL_URL until its stdin
 * closes. It may be killed at any moment; what it had recorded is not done again.
 */
import { AccessDenied, connect } from "@pawl/sdk";
import { stdinClosed } from "../processes/stdin-closed.js";
import { servedTasks } from "./tasks.js";
import { notLetInCode, ownToken } from "./token.js";

const drainMs = 5_000;

const url = process.env["PAWL_URL"] ?? "http://127.0.0.1:7295";
const client = connect({ url, ...ownToken() });
const worker = await client.worker({ serve: servedTasks, slots: 4 }).catch((error: unknown) => {
  if (!(error instanceof AccessDenied)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(notLetInCode);
});
process.stdout.write(`${JSON.stringify({ serving: servedTasks.map(({ name }) => name) })}\n`);

await stdinClosed();
// The kernel may be gone already: then there is nobody to give the tasks back to.
setTimeout(() => process.exit(0), drainMs + 1_000).unref();
await worker.close({ drainMs });
await client.close();
