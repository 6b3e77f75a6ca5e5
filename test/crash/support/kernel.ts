/*
 * A kernel as `pawl serve` hosts it, in a process of its own that the environment may tell to kill itself. Unless it is told otherwise it checkpoints at
 * once and keeps no log behind the horizon, so that every boundary is reached within a small workload.
 */
import { processContext } from "@pawl/server/cli/context.js";
import { hostKernel } from "@pawl/server/cli/serve/host-kernel.js";

// As after a long sleep: what is done once an hour is due at the start.
const aheadMs = Number(process.env["PAWL_TEST_CLOCK_AHEAD_MS"] ?? 0);
const readClock = Date.now;
Date.now = () => readClock() + aheadMs;

const beginAgeMs = Number(process.env["PAWL_TEST_CHECKPOINT_AGE_MS"] ?? 20);
const [, , dir = "", port = "0"] = process.argv;
const context = processContext();
const kernel = await hostKernel(context, {
  dir,
  host: "127.0.0.1",
  port: Number(port),
  exitWithParent: true,
  json: true,
  checkpoint: { beginAgeMs, logRetentionBytes: 0, logRetentionMs: 0 },
});
process.stdout.write(`${JSON.stringify({ listening: kernel.port })}\n`);
context.onStdinEnd(() => void kernel.close().then(() => process.exit(0)));
