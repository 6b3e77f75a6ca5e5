import { parseArgs } from "node:util";
import { openBooks } from "./books.js";
import { lockFolder } from "./folder-lock.js";
import { TicketService } from "./service.js";
import { TicketError } from "./ticket-error.js";
import { readMode, type SinkMode, sinkModes } from "./wire.js";

const usage =
  "usage: node main.js --dir DIR --port PORT " +
  `[--mode ${sinkModes.join("|")}] [--exit-with-parent]`;

/** How long a start waits for an earlier service on the same folder that is still ending. */
const lockWaitMs = 5_000;

interface Settings {
  readonly dir: string;
  readonly port: number;
  readonly mode: SinkMode;
  readonly exitWithParent: boolean;
}

function readSettings(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      dir: { type: "string" },
      port: { type: "string" },
      mode: { type: "string", default: "idempotent" },
      "exit-with-parent": { type: "boolean", default: false },
    },
  });
  const { dir, port: portText = "" } = values;
  const mode = readMode(values.mode);
  const port = Number(portText);
  if (dir === undefined || dir === "") throw badArgument("--dir", "a folder for the books");
  if (!/^\d{1,5}$/.test(portText) || port > 65_535) throw badArgument("--port", "0 to 65535");
  if (mode === undefined) throw badArgument("--mode", `one of ${sinkModes.join(", ")}`);
  return { dir, port, mode, exitWithParent: values["exit-with-parent"] };
}

function badArgument(name: string, expected: string): TicketError {
  return new TicketError(`expected ${name} to be ${expected}; ${usage}`, {
    code: "TICKET_ARGUMENT",
    status: 400,
    details: { field: name },
  });
}

/** Resolves at the first thing that asks the service to end in order. */
function whenAskedToEnd(exitWithParent: boolean): Promise<void> {
  return new Promise((resolve) => {
    process.on("SIGTERM", () => resolve());
    if (exitWithParent) {
      // Ctrl-C and a closed terminal reach the whole process group; only the parent acts on them,
      // and ends this process by closing the pipe when the callers of this service have ended.
      process.on("SIGINT", () => undefined);
      process.on("SIGHUP", () => undefined);
      process.stdin.on("end", resolve).on("close", resolve).on("error", resolve).resume();
    } else {
      process.on("SIGINT", () => resolve());
      process.on("SIGHUP", () => resolve());
    }
  });
}

async function serve({ dir, port, mode, exitWithParent }: Settings): Promise<void> {
  const asked = whenAskedToEnd(exitWithParent);
  const lock = await lockFolder(dir, lockWaitMs);
  const { books, tornBytes } = await openBooks(dir);
  if (tornBytes > 0) {
    process.stderr.write(`ticket service: dropped an unfinished last line of ${tornBytes} bytes\n`);
  }
  let failService: (error: unknown) => void = () => undefined;
  const fault = new Promise<never>((_, reject) => {
    failService = reject;
  });
  const service = new TicketService({ books, defaultMode: mode, onFault: (e) => failService(e) });
  const listening = await service.listen(port);
  process.stdout.write(`${JSON.stringify({ listening })}\n`);
  try {
    await Promise.race([asked, fault]);
  } finally {
    await service.close();
    await lock.release();
  }
}

try {
  await serve(readSettings(process.argv.slice(2)));
  process.exit(0);
} catch (error) {
  const code = error instanceof Error && "code" in error ? `${String(error.code)}: ` : "";
  process.stderr.write(
    `ticket service: ${code}${error instanceof Error ? error.message : error}\n`,
  );
  process.exit(1);
}
