/**
 * A worker of functions: `node function-worker.js URL SLOTS [warm|cold]`. A cold one keeps no function in memory that waits. Serves when told `"serve"` on standard input; ends when
 * that closes.
 */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { connect } from "@pawl/sdk";
import { history, parked, sharedMs, wake } from "./functions.js";

const [url = "", slots = "1", how = "warm"] = process.argv.slice(2);
const warmth = how === "cold" ? { warmBytesMax: 0 } : {};
const client = connect({ url });
for (let isThere = false; !isThere; ) {
  isThere = await client.api.admin.getServerInfo({}).then(
    () => true,
    () => setTimeout(5, false),
  );
}
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
const lines = createInterface({ input: process.stdin });
lines.once("line", () => {
  const ms = sharedMs();
  void client
    .worker({ serve: [history, wake, parked], slots: Number(slots), ...warmth })
    .then(() => process.stdout.write(`${JSON.stringify({ serving: true, ms })}\n`));
});
await once(lines, "close");
await client.close({ drainMs: 0 });
