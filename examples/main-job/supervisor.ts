import { setTimeout as delay } from "node:timers/promises";
import { AccessDenied, Conflict, PawlError } from "@pawl/sdk";
import { ChildHopeless } from "../processes/kept-child.js";
import { listenForStop, type StopSignals } from "../processes/stop-signals.js";
import { type FolderLock, lockFolder } from "../ticket-service/folder-lock.js";
import { Crew } from "./crew.js";
import { supervisorFolder } from "./folders.js";
import { joinRunning } from "./join.js";
import { say } from "./printer.js";
import { runAndTell } from "./run-and-tell.js";
import { readSettings, type Settings, SettingsInvalid, usage } from "./settings.js";
import { tokenHint } from "./token.js";

const lookEveryMs = 500;

const newRunHint =
  "The incident file was changed since this run began. Start another run over it: npm start -- --new";

/**
 * `npm start`: keeps kernel, ticket service and worker running, starts the run of this folder or goes on with it, and tells how it
 * went. It alone reacts to signals. A second one in the same folder joins the first.
 *
 * @returns the exit code: 0 after a stop that was asked for, 1 when a part cannot run, 2 when the arguments are wrong.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const stop = listenForStop();
  try {
    const settings = readSettings(argv);
    if (settings.asksHelp) {
      say("", usage);
      return 0;
    }
    return await superviseOrJoin(settings, stop);
  } catch (error) {
    if (error instanceof SettingsInvalid) return tellError(`${error.message}\n${usage}`, 2);
    if (error instanceof ChildHopeless) return tellError(error.message, 1);
    if (error instanceof Conflict) return tellError(`${error.message}\n${newRunHint}`, 1);
    if (error instanceof AccessDenied) return tellError(`${error.message}\n${tokenHint}`, 1);
    if (error instanceof PawlError) return tellError(`${error.message} [${error.code}]`, 1);
    throw error;
  } finally {
    stop.close();
  }
}

async function superviseOrJoin(settings: Settings, stop: StopSignals): Promise<number> {
  for (;;) {
    const lock = await tryLock();
    if (lock !== undefined) return await supervise(settings, stop, lock);
    const code = await joinRunning(settings, { stop, isFree: untilLockIsFree });
    if (code !== undefined) return code;
  }
}

async function supervise(settings: Settings, stop: StopSignals, lock: FolderLock): Promise<number> {
  const crew = new Crew(settings.port);
  try {
    const asked = stop.stopped.then(() => "stopped" as const);
    const started = await Promise.race([crew.start(), asked]);
    if (started === "stopped") return 0;
    const { startsNew } = settings;
    const onWait = (): void => crew.tellWhatMayBeKilled();
    const told = runAndTell(started, { startsNew, onWait }).then(() => crew.tellHowToGoOn());
    // The run may end at any time, or never; this process stays up until it is asked to stop, or a part is given up.
    await Promise.race([Promise.all([told, crew.kept]), asked]);
    return 0;
  } finally {
    void stop.insisted.then(() => crew.killAll());
    await crew.stop();
    await lock.release();
    say("", "Stopped; nothing is left running. npm start goes on where it was.");
  }
}

/** Makes this process the supervisor of the folder; undefined when another one is. */
async function tryLock(): Promise<FolderLock | undefined> {
  try {
    return await lockFolder(supervisorFolder, 0);
  } catch (error) {
    const isInUse =
      error instanceof Error && "code" in error && error.code === "TICKET_FOLDER_IN_USE";
    if (isInUse) return undefined;
    throw error;
  }
}

/** Resolves when nobody supervises the folder any more. */
async function untilLockIsFree(signal: AbortSignal): Promise<void> {
  for (;;) {
    await delay(lookEveryMs, undefined, { signal });
    const lock = await tryLock();
    if (lock === undefined) continue;
    await lock.release();
    return;
  }
}

function tellError(message: string, code: number): number {
  process.stderr.write(`npm start: ${message}\n`);
  return code;
}
