import { test } from "vitest";
import { callLines } from "./support/call-lines.js";
import { tryCall } from "./support/try-call.js";

test.each(Object.entries(callLines))(
  "a function ends the same with ctx.%s when it runs again from its records, wherever the kernel dies",
  (_name, line) => tryCall(line, { warmBytesMax: 0, kill: ["kernel"] }),
  600_000,
);
