/** The worker process: `node worker.js URL SLOTS`. Prints one line when it serves; ends when its standard input closes. */
import { connect } from "@pawl/sdk";
import { echo } from "./workload.js";

const [url = "", slots = "1"] = process.argv.slice(2);
const client = connect({ url });
const worker = await client.worker({ serve: [echo], slots: Number(slots) });
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
process.stdin.resume();
process.stdin.on("end", () => {
  worker
    .close({ drainMs: 0 })
    .then(() => client.close())
    .then(() => process.exit(0));
});
