/* A process of its own: node fill-store.js CODE DIR STEP. It opens the store and does one step of what the code says; it kills itself after the step `leave`. */
import { openKernel } from "@pawl/sdk";
import type { GoldenStore } from "./golden-store.js";

const [, , code = "", dir = "", step = ""] = process.argv;
// Stacks name the folders of the machine.
Error.stackTraceLimit = 0;
const { golden }: { readonly golden: GoldenStore } = await import(code);
const kernel = await openKernel({ dir });
if (step === "leave") {
  await golden.leave(kernel);
  process.kill(process.pid, "SIGKILL");
}
await golden.fill(kernel);
await kernel.close({ drainMs: 1_000 });
