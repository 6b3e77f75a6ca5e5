/** The worker process: `node worker.js URL SLOTS`. Prints one line when it serves; ends when its standard input closes. */
import { once } from "node:events";
import { connect } from "@pawl/sdk";
import { mapFan, threeSteps } from "./functions.js";
import { echo } from "./workload.js";

const [url = "", slots = "1"] = process.argv.slice(2);
const client = connect({ url });
const worker = await client.worker({ serve: [echo, threeSteps, mapFan], slots: Number(slots) });
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
process.stdin.resume();
await once(process.stdin, "end");
await worker.close({ drainMs: 0 });
await client.close();
