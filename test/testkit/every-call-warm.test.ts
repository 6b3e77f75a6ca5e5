import { test } from "vitest";
import { callLines } from "./support/call-lines.js";
import { tryCall } from "./support/try-call.js";

test.each(Object.entries(callLines))(
  "a function ends the same with ctx.%s, whatever dies wherever",
  (_name, line) => tryCall(line, { warmBytesMax: 1_000_000, kill: ["worker", "kernel"] }),
  600_000,
);
