import { randomBytes } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readPidSpace, readStartOf } from "./process-identity.mjs";
import { sleepUnlessStopped } from "./stop.mjs";

/*
 * The set-up lock. Each contender first puts up a claim of its own, a file whose name is never used
 * again, and only then looks for others: if one of them lives, it takes its own claim down and waits
 * (the flag principle of Dekker and Peterson). So two can never both believe that they hold it, and
 * a claim whose process died needs no taking over, which is where lock files usually go wrong: it is
 * simply not counted, and whoever sees it may delete it.
 */

/** How often a holder freshens its claim, for those who cannot see its process (another container). */
const FRESHEN_EVERY_MS = 5_000;
/** After this long without freshening, a claim from another pid space counts as left behind. */
const LEFT_BEHIND_AFTER_MS = 30_000;
const RETRY_MIN_MS = 40;
const RETRY_SPREAD_MS = 160;

/**
 * @typedef {object} SetUpLock
 * @property {(pid: number) => () => void} alsoHeldBy makes a child hold the lock with us, so that it
 *   is not free while the child goes on after we were killed; the answer ends that
 * @property {() => void} release
 */

/**
 * @typedef {object} LockOptions
 * @property {string} directory where the claims are; made when missing
 * @property {string} holder what to tell those who wait, such as "npm start"
 * @property {import("./stop.mjs").Stop} stop
 * @property {(line: string) => void} say
 */

/**
 * Waits until nobody else holds the lock, then holds it.
 *
 * @param {LockOptions} options
 * @returns {Promise<SetUpLock>}
 * @throws {import("./errors.mjs").StoppedError} when a signal to stop comes while waiting
 */
export async function acquireSetUpLock({ directory, holder, stop, say }) {
  let hasSaid = false;
  for (;;) {
    stop.throwIfStopped();
    mkdirSync(directory, { recursive: true });
    let rival = findLiveClaim(directory, new Set());
    if (rival === undefined) {
      const own = putUpClaim(directory, process.pid, holder);
      rival = findLiveClaim(directory, new Set([own]));
      if (rival === undefined) return holdLock({ directory, holder, own });
      takeDownClaim(directory, own);
    }
    if (!hasSaid) say(`waiting: ${rival} is setting up`);
    hasSaid = true;
    await sleepUnlessStopped(RETRY_MIN_MS + Math.random() * RETRY_SPREAD_MS, stop);
  }
}

/**
 * @param {{ directory: string, holder: string, own: string }} claim
 * @returns {SetUpLock}
 */
function holdLock({ directory, holder, own }) {
  const names = new Set([own]);
  const freshener = setInterval(() => {
    for (const name of names) freshenClaim(directory, name);
  }, FRESHEN_EVERY_MS);
  freshener.unref();
  const release = () => {
    clearInterval(freshener);
    process.off("exit", release);
    for (const name of names) takeDownClaim(directory, name);
    names.clear();
  };
  process.on("exit", release);
  return {
    alsoHeldBy(pid) {
      const name = putUpClaim(directory, pid, holder);
      names.add(name);
      return () => {
        names.delete(name);
        takeDownClaim(directory, name);
      };
    },
    release,
  };
}

/**
 * @param {string} directory
 * @param {number} pid
 * @param {string} holder
 * @returns {string} the claim's name: `pid.start.space.nonce`, all that is needed to judge it, so
 *   that a claim is whole from the moment its file is there
 */
function putUpClaim(directory, pid, holder) {
  const nonce = randomBytes(6).toString("hex");
  const name = `${pid}.${readStartOf(pid) ?? "gone"}.${readPidSpace()}.${nonce}`;
  writeFileSync(join(directory, name), `${holder}\n`, { flag: "wx" });
  return name;
}

/**
 * @param {string} directory
 * @param {ReadonlySet<string>} ours
 * @returns {string | undefined} who it is, for people
 */
function findLiveClaim(directory, ours) {
  for (const name of readdirSync(directory)) {
    if (ours.has(name)) continue;
    const parts = name.split(".");
    const [pid, start, space] = parts;
    if (parts.length !== 4 || pid === undefined || !/^\d+$/.test(pid)) continue;
    const isAlive =
      space === readPidSpace() ? readStartOf(Number(pid)) === start : isFresh(directory, name);
    if (isAlive) return describeClaim(directory, name, pid);
    takeDownClaim(directory, name);
  }
  return undefined;
}

/**
 * @param {string} directory
 * @param {string} name
 */
function isFresh(directory, name) {
  try {
    return Date.now() - statSync(join(directory, name)).mtimeMs < LEFT_BEHIND_AFTER_MS;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * @param {string} directory
 * @param {string} name
 * @param {string} pid
 */
function describeClaim(directory, name, pid) {
  try {
    const holder = readFileSync(join(directory, name), "utf8").trim();
    return `${holder === "" ? "another command" : holder} (process ${pid})`;
  } catch (error) {
    if (isMissing(error)) return `process ${pid}`;
    throw error;
  }
}

/**
 * @param {string} directory
 * @param {string} name
 */
function takeDownClaim(directory, name) {
  try {
    unlinkSync(join(directory, name));
  } catch (error) {
    // Somebody who saw that its process died was quicker.
    if (!isMissing(error)) throw error;
  }
}

/**
 * @param {string} directory
 * @param {string} name
 */
function freshenClaim(directory, name) {
  const now = new Date();
  try {
    utimesSync(join(directory, name), now, now);
  } catch (error) {
    // Somebody deleted the directory by hand; that is no reason to end a set-up that goes well.
    if (!isMissing(error)) throw error;
  }
}

/** @param {unknown} error */
function isMissing(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT";
}
