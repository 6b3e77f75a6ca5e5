import type { ServeOptions } from "../commands/serve.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { Output } from "../output.js";
import type { HostedKernel } from "./host-kernel.js";
import { openFolder } from "./open-folder.js";
import { listenForStop, type StopRequest } from "./stop-request.js";
import { supervise } from "./supervise.js";

/** A stop takes no longer; what is durable then stays, and the next start reads it. */
const STOP_MAX_MS = 4_500;

/**
 * `pawl serve`: serves a data folder until it is asked to stop (exit code 0) or its store fails (70). On a terminal, or
 * with `--restart`, a small parent process serves it in a child and starts afresh when the store fails.
 */
export function serve(context: CliContext, options: ServeOptions): Promise<number> {
  const isSupervised =
    options.restart ?? (context.isInteractive && options.exitWithParent !== true);
  return isSupervised ? supervise(context, options) : serveHere(context, options);
}

async function serveHere(context: CliContext, options: ServeOptions): Promise<number> {
  const out = new Output(context, options.json);
  const stop = listenForStop(context, options.exitWithParent === true);
  try {
    const hosted = await hostSoon(context, options);
    tellListening(hosted, options, out);
    return await serveUntilEnd(hosted, stop, out);
  } finally {
    stop.close();
  }
}

/** The disk reads the folder while the rest of the kernel's code is loaded: a start after a crash has to do both. */
async function hostSoon(context: CliContext, options: ServeOptions): Promise<HostedKernel> {
  const opening = openFolder(context, options);
  opening.catch(() => {}); // `hostKernel` tells it.
  const { hostKernel } = await import("./host-kernel.js");
  return hostKernel(context, options, opening);
}

function tellListening(
  { host, port, isNew, url }: HostedKernel,
  options: ServeOptions,
  out: Output,
): void {
  // The parent that restarts this process serves the same port again.
  process.send?.({ listening: { host, port } });
  if (out.isJson) {
    out.json({ listening: { host, port } });
    return;
  }
  const store = isNew ? "a new store" : "the store";
  out.lines(
    `Pawl serves ${store} in ${options.dir} at ${url}. Stop it with Ctrl-C; nothing acknowledged is lost.`,
  );
}

async function serveUntilEnd(
  hosted: HostedKernel,
  stop: StopRequest,
  out: Output,
): Promise<number> {
  const end = await Promise.race([
    stop.asked.then((why) => ({ why })),
    hosted.failed.then((error) => ({ error })),
  ]);
  if ("error" in end) {
    out.notice(`The store failed, so nothing more is acknowledged: ${end.error.message}`);
    await withinMs(STOP_MAX_MS, hosted.abandon());
    return exitNow(exitCodes.storeFailed);
  }
  out.notice(
    `Stopping (${end.why}): running tasks keep their leases, and workers reconnect to the next kernel.`,
  );
  const stopped = withinMs(STOP_MAX_MS, hosted.close());
  const how = await Promise.race([stopped, stop.insisted]);
  if (how === "done") return exitCodes.ok;
  const cause = how === "late" ? "Stopping took too long" : "Ended at once, as asked";
  out.notice(`${cause}; everything acknowledged is in the log.`);
  return exitNow(exitCodes.ok);
}

/** Waits for work to be done, but not for ever. */
async function withinMs(ms: number, work: Promise<void>): Promise<"done" | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(resolve, ms, "late");
  });
  try {
    return await Promise.race([work.then(() => "done" as const), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends the process although something of it is still open. */
function exitNow(code: number): never {
  process.exit(code);
}
