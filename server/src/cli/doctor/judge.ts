import { BALLAST_BYTES } from "../../log/ballast.js";
import { REOPEN_FACTOR, WATERMARKS_DEFAULT } from "../../log/watermark.js";
import { FollowUps } from "../follow-up.js";
import { formatBytes } from "../format/bytes.js";
import { count, formatNumber } from "../format/text.js";
import { formatLength } from "../format/time.js";
import type { Asked, Examination, Obstacle } from "./examination.js";

/** How something is. */
export type Health = "well" | "attention" | "bad";

/** What a doctor says about one thing. */
export interface Verdict {
  readonly topic: string;
  readonly health: Health;
  /** A sentence, or several. */
  readonly says: string;
  /** What to do about it: sentences, or commands as they are typed. */
  readonly next: readonly string[];
}

/** How times are told. */
export type TellTime = (atMs: number) => string;

/** Runs that are named; of more their number. */
const RUNS_TOLD = 10;

/** Says of everything that was found out how it is and what to do about it. */
export function judge(found: Examination, tellTime: TellTime): Verdict[] {
  const folder = new FollowUps({ dir: found.dir });
  const { obstacle, asked } = found;
  const verdicts = [
    judgeFolder(found, folder),
    ...(obstacle !== undefined && obstacle.reason !== "damaged"
      ? []
      : [judgeHolder(found, tellTime)]),
    ...(found.format === undefined
      ? []
      : [well("format", `It is format ${found.format}, which this pawl reads.`)]),
    ...judgeStore(found, folder, tellTime),
    ...judgeCheck(found, folder, tellTime),
    ...judgeLog(found),
    ...judgeDisk(found, asked),
  ];
  return found.hasFailedWrite ? [...verdicts, failedWrite(found)] : verdicts;
}

function well(topic: string, says: string): Verdict {
  return { topic, health: "well", says, next: [] };
}

function judgeFolder({ dir, obstacle, stored, asked }: Examination, folder: FollowUps): Verdict {
  if (obstacle !== undefined) return judgeObstacle(obstacle, folder);
  const id = stored?.storeId ?? (asked?.isAnswered === true ? asked.storeId : undefined);
  return well("folder", id === undefined ? `${dir} holds a store.` : `${dir} holds store ${id}.`);
}

function judgeObstacle({ reason, message }: Obstacle, folder: FollowUps): Verdict {
  const says = message;
  const serve = folder.command("serve");
  switch (reason) {
    case "absent":
    case "empty":
      return {
        topic: "folder",
        health: "attention",
        says,
        next: [`To make a store in it: ${serve}`],
      };
    case "unfinished":
      return { topic: "folder", health: "attention", says, next: [`To make it anew: ${serve}`] };
    case "foreign":
      return {
        topic: "folder",
        health: "bad",
        says,
        next: ["Name the folder of a store, or one that is empty: --dir FOLDER"],
      };
    case "newer":
      return {
        topic: "format",
        health: "bad",
        says,
        next: ["Use the version of pawl that wrote it, or a newer one."],
      };
    case "damaged":
      return {
        topic: "files",
        health: "bad",
        says,
        next: [
          "Keep a copy of the folder as it is; nothing repairs it silently.",
          `To name all that is damaged: ${folder.command("verify")}`,
          `Put a backup in its place, then begin a new epoch: ${folder.command("restore")}`,
        ],
      };
    case "unreadable":
      return {
        topic: "files",
        health: "bad",
        says: `Its files cannot be read: ${message}.`,
        next: ["Run this as the user that serves it, and look at the disk."],
      };
  }
}

function judgeHolder({ holder, asked, tokenFile }: Examination, tellTime: TellTime): Verdict {
  const topic = "served";
  if (holder === undefined) return well(topic, "No process has it open.");
  const { pid, url } = holder;
  if (url === undefined) {
    return {
      topic,
      health: "attention",
      says: `Process ${pid} has it open without an address to be asked at; so what is told here is of the folder alone.`,
      next: ["Ask the program that embeds the kernel, or look again when it has ended."],
    };
  }
  if (asked?.isAnswered === true) {
    const { version, readyAtMs } = asked;
    return well(
      topic,
      `Process ${pid} serves it at ${url}: Pawl ${version}, ready since ${tellTime(readyAtMs)}.`,
    );
  }
  return {
    topic,
    health: "bad",
    says: `Process ${pid} says that it serves it at ${url}, but the kernel was asked there and told nothing: ${asked?.why ?? "no answer"}.`,
    next: [
      "With tokens: name the file of one with --token-file. Else look at the log of that process.",
      new FollowUps({ url, tokenFile }).command("info"),
    ],
  };
}

function judgeStore(found: Examination, folder: FollowUps, tellTime: TellTime): Verdict[] {
  const known = found.stored ?? (found.asked?.isAnswered === true ? found.asked : undefined);
  if (known === undefined) return [];
  const { epoch, readOnlyReason, setAsideRuns } = known;
  const since =
    found.stored === undefined ? "" : ` It was made ${tellTime(found.stored.createdAtMs)}.`;
  const restored =
    epoch === 1 ? "nothing was ever restored" : `it was restored ${count(epoch - 1, "time")}`;
  return [
    well("epoch", `It lives in epoch ${epoch}: ${restored}.${since}`),
    readOnlyReason === "" ? well("work", "It takes work.") : readOnly(readOnlyReason, folder),
    judgeRuns(setAsideRuns, folder),
  ];
}

function readOnly(reason: string, folder: FollowUps): Verdict {
  return {
    topic: "work",
    health: "bad",
    says: `A kernel takes nothing new from it, it is read-only: ${reason}.`,
    next: [
      "Put a better copy of the data folder in its place, if there is one.",
      `To accept the loss, once no kernel serves it: ${folder.command("restore")}`,
    ],
  };
}

function judgeRuns(runs: readonly number[], folder: FollowUps): Verdict {
  if (runs.length === 0) return well("runs", "No run is set aside for damage.");
  const named = runs.slice(0, RUNS_TOLD).join(", ");
  const more = runs.length > RUNS_TOLD ? ` and ${runs.length - RUNS_TOLD} more` : "";
  return {
    topic: "runs",
    health: "bad",
    says: `${count(runs.length, "run")} (by number in the store: ${named}${more}) ${runs.length === 1 ? "is" : "are"} damaged and refused; all others are served.`,
    next: [
      `To name what is damaged, once no kernel serves it: ${folder.command("verify")}`,
      "Take them from a backup, or start them anew under other ids.",
    ],
  };
}

function judgeCheck(found: Examination, folder: FollowUps, tellTime: TellTime): Verdict[] {
  const { lastCheck, asked, obstacle } = found;
  if (obstacle !== undefined && obstacle.reason !== "damaged") return [];
  if (asked?.isAnswered === true && (asked.scrubRounds > 0 || asked.findingCount > 0)) {
    return [judgeScrub(asked, folder, tellTime)];
  }
  const verify = `To look again, once no kernel serves it: ${folder.command("verify")}`;
  if (lastCheck === undefined) {
    const says = "All that is stored was not read yet: a kernel that serves does so once a day.";
    return [{ topic: "last check", health: "well", says, next: [] }];
  }
  const who = lastCheck.by === "verify" ? "pawl verify" : "the kernel's scrubber";
  const when = `It was read last by ${who}, ${tellTime(lastCheck.atMs)}:`;
  return lastCheck.problems === 0
    ? [well("last check", `${when} all of it is as it was written.`)]
    : [
        {
          topic: "last check",
          health: "bad",
          says: `${when} ${count(lastCheck.problems, "place")} ${lastCheck.problems === 1 ? "is" : "are"} not as written.`,
          next: [verify],
        },
      ];
}

function judgeScrub(
  asked: Extract<Asked, { isAnswered: true }>,
  folder: FollowUps,
  tellTime: TellTime,
): Verdict {
  const { scrubRounds, lastRoundAtMs, findings, findingCount } = asked;
  const when =
    scrubRounds === 0 ? "" : ` Its last round over all of it ended ${tellTime(lastRoundAtMs)}.`;
  if (findingCount === 0) {
    return well("last check", `The kernel's scrubber found all of it as it was written.${when}`);
  }
  const untold = findingCount - findings.length;
  const rest =
    untold === 0
      ? ""
      : ` ${count(untold, "finding")} is told to an operator or admin of every namespace alone.`;
  return {
    topic: "last check",
    health: "bad",
    says: `The kernel's scrubber found ${count(findingCount, "place")} not as written.${when} ${findings.join(" ")}${rest}`.trim(),
    next: [
      "Keep a copy of the folder as it is; nothing repairs it silently.",
      `To name all that is damaged, once no kernel serves it: ${folder.command("verify")}`,
    ],
  };
}

function judgeLog({ log }: Examination): Verdict[] {
  if (log === undefined) return [];
  const begins =
    log.trimmedSequence === 0
      ? "It is there from its first event on"
      : `It is trimmed up to sequence ${formatNumber(log.trimmedSequence)}, whose segment has the hash ${log.anchorHash}`;
  const kept = `${formatBytes(log.retentionBytes)} and ${formatLength(log.retentionMs)}`;
  return [
    well("log", `${begins}. At most ${kept} of it are kept behind the rows.`),
    well("size", `The store takes up ${formatBytes(log.storeBytes)}.`),
  ];
}

function judgeDisk(
  { disk, ballastBytes, holder, obstacle }: Examination,
  asked: Asked | undefined,
): Verdict[] {
  if (disk === undefined || (obstacle !== undefined && obstacle.reason !== "damaged")) return [];
  const { newRunsBytesMin, completionsBytesMin } = WATERMARKS_DEFAULT;
  const { freeBytes, totalBytes } = disk;
  const space = `${formatMib(freeBytes)} of ${formatMib(totalBytes)} are free`;
  const isLow = freeBytes < newRunsBytesMin || (asked?.isAnswered === true && asked.isDiskLow);
  const free = [
    `Free some space on it: new runs are taken again from ${formatMib(newRunsBytesMin * REOPEN_FACTOR)} on.`,
  ];
  const says =
    freeBytes < completionsBytesMin
      ? `The disk is nearly full: ${space}, so nothing that can wait is written.`
      : `The disk is low: ${space}, so new runs are refused; running ones go on.`;
  return [
    isLow
      ? {
          topic: "disk",
          health: freeBytes < completionsBytesMin ? "bad" : "attention",
          says,
          next: free,
        }
      : well("disk", `${space} on its disk.`),
    judgeBallast(ballastBytes, { isLow, isServed: holder !== undefined }),
  ];
}

function judgeBallast(
  bytes: number,
  { isLow, isServed }: { readonly isLow: boolean; readonly isServed: boolean },
): Verdict {
  if (bytes >= BALLAST_BYTES) {
    return well("ballast", `${formatMib(bytes)} are kept for the moment when the disk is full.`);
  }
  const why = isLow
    ? "it was given back to the disk, or there was never room for it, and is made again when there is room"
    : `a kernel makes it in its second minute${isServed ? "" : " and none serves now"}`;
  return {
    topic: "ballast",
    health: isLow ? "attention" : "well",
    says: `Nothing is kept for the moment when the disk is full: ${why}.`,
    next: [],
  };
}

function failedWrite({ holder }: Examination): Verdict {
  const next =
    holder === undefined
      ? ["Look at the disk and at the log of that kernel, then serve it again."]
      : [];
  return {
    topic: "last write",
    health: "attention",
    says: "The last process that had it open ended in a failed write. What was acknowledged is there; what was not answered then may or may not be.",
    next,
  };
}

function formatMib(bytes: number): string {
  return `${formatNumber(Math.floor(bytes / (1024 * 1024)))} MiB`;
}
