import { existsSync, statSync } from "node:fs";
import { readdir, readFile, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import type { GetServerInfoResponse } from "@pawl/proto/v1/admin_service_pb.js";
import { inspectStore, type StoreInsight } from "../../kernel/storage/inspect-store.js";
import { FOLDER, inspectFolder, readStoreFile } from "../../log/data-folder.js";
import { readLastCheck } from "../../log/last-check.js";
import { checkLevelFiles } from "../../log/leveldb-check.js";
import { StoreForeign, StoreNewer } from "../../log/open-errors.js";
import { StoreDamaged } from "../../log/store-errors.js";
import type { DoctorOptions } from "../commands/doctor.js";
import { connect } from "../connection.js";
import type { CliContext } from "../context.js";
import { readCredentials } from "../credentials.js";
import { kernelUrl, readKernelHint } from "../kernel-url.js";
import type { Asked, Examination, Holder, LogInsight, Obstacle } from "./examination.js";
import { findLockHolder } from "./find-lock-holder.js";

/** The one partition that a kernel of this version has. */
const PARTITION = 0;

/** How long the kernel is waited for. */
const ASK_MS = 5_000;

/** Finds out how a data folder is: asks the kernel that serves it, else looks at its files. Writes nothing. */
export async function examine(context: CliContext, options: DoctorOptions): Promise<Examination> {
  const directory = resolve(context.cwd, options.dir);
  const common = {
    dir: options.dir,
    tokenFile: options.tokenFile,
    lastCheck: await readLastCheck(directory),
    hasFailedWrite: existsSync(join(directory, FOLDER.writeFailed)),
    disk: await readDisk(directory),
    ballastBytes: statSync(join(directory, FOLDER.ballast), { throwIfNoEntry: false })?.size ?? 0,
  };
  const nothing = {
    ...{ format: undefined, holder: undefined, asked: undefined, stored: undefined },
  };
  const absence = await findAbsence(directory);
  if (absence !== undefined) return { ...common, ...nothing, obstacle: absence };
  const holder = await findHolder(directory);
  const file = await attempt(() => readStoreFile(directory));
  if (!file.isDone) return { ...common, ...nothing, holder, obstacle: file.obstacle };
  const known = { ...common, ...nothing, format: file.value.format, holder };
  if (holder !== undefined) {
    const { asked, log } = await ask(context, options, holder);
    return { ...known, asked, log, obstacle: undefined };
  }
  const stored = await attempt(async () => {
    const tail = common.hasFailedWrite ? "torn" : "strict";
    await checkLevelFiles(join(directory, FOLDER.database), { tail });
    return await inspectStore(directory, PARTITION);
  });
  return stored.isDone
    ? {
        ...known,
        stored: stored.value,
        log: logOf(stored.value, await sizeOf(join(directory, FOLDER.database))),
        obstacle: undefined,
      }
    : { ...known, obstacle: stored.obstacle };
}

async function findAbsence(directory: string): Promise<Obstacle | undefined> {
  const found = await attempt(() => inspectFolder(directory));
  if (!found.isDone) return found.obstacle;
  switch (found.value) {
    case "absent":
      return { reason: "absent", message: "There is no such folder." };
    case "empty":
      return { reason: "empty", message: "It is empty: no store was made in it yet." };
    case "unfinished":
      return {
        reason: "unfinished",
        message:
          "The making of a store in it was begun and never finished; nothing was served from it.",
      };
    case "store":
      return undefined;
  }
}

type Attempt<T> =
  | { readonly isDone: true; readonly value: T }
  | { readonly isDone: false; readonly obstacle: Obstacle };

async function attempt<T>(look: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { isDone: true, value: await look() };
  } catch (error) {
    return { isDone: false, obstacle: { reason: reasonOf(error), message: messageOf(error) } };
  }
}

function reasonOf(error: unknown): Obstacle["reason"] {
  if (error instanceof StoreForeign) return "foreign";
  if (error instanceof StoreNewer) return "newer";
  return error instanceof StoreDamaged ? "damaged" : "unreadable";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function readDisk(directory: string): Promise<Examination["disk"]> {
  const disk = await statfs(directory).catch(() => undefined);
  return disk === undefined
    ? undefined
    : { freeBytes: disk.bavail * disk.bsize, totalBytes: disk.blocks * disk.bsize };
}

async function findHolder(directory: string): Promise<Holder | undefined> {
  const hint = await readKernelHint(directory);
  if (hint !== undefined) {
    const { pid, port } = hint;
    const url = port === undefined ? undefined : kernelUrl(hint.host, port, hint.hasTls);
    return { pid, url };
  }
  const locks = await readFile("/proc/locks", "utf8").catch(() => "");
  const pid = await findLockHolder(join(directory, FOLDER.database, "LOCK"), locks);
  return pid === undefined ? undefined : { pid, url: undefined };
}

async function ask(
  context: CliContext,
  options: DoctorOptions,
  { url }: Holder,
): Promise<{ readonly asked: Asked | undefined; readonly log: LogInsight | undefined }> {
  if (url === undefined) return { asked: undefined, log: undefined };
  const kernel = connect(url, await readCredentials(context, options));
  try {
    const info = await kernel.admin.getServerInfo({}, { timeoutMs: ASK_MS });
    return { asked: answered(info), log: toldLog(info) };
  } catch (error) {
    const asked = { isAnswered: false, why: ConnectError.from(error).rawMessage } as const;
    return { asked, log: undefined };
  } finally {
    kernel.close();
  }
}

function toldLog({ log }: GetServerInfoResponse): LogInsight | undefined {
  return log === undefined
    ? undefined
    : {
        trimmedSequence: Number(log.trimmedSequence),
        anchorHash: Buffer.from(log.anchorHash).toString("hex"),
        retentionBytes: Number(log.retentionBytes),
        retentionMs: log.retention === undefined ? 0 : durationMs(log.retention),
        storeBytes: Number(log.storeBytes),
      };
}

function logOf({ anchor, retention }: StoreInsight, storeBytes: number): LogInsight {
  return {
    trimmedSequence: anchor.sequence,
    anchorHash: Buffer.from(anchor.hash).toString("hex"),
    retentionBytes: retention.bytes,
    retentionMs: retention.ms,
    storeBytes,
  };
}

/** Bytes of the files of a folder; one that is gone meanwhile has none. */
async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) {
    bytes += statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

function answered(info: GetServerInfoResponse): Asked {
  const { scrub } = info;
  return {
    isAnswered: true,
    version: info.version,
    storeId: info.storeId,
    epoch: info.storeEpoch,
    readyAtMs: info.readyAt === undefined ? 0 : timestampMs(info.readyAt),
    isDiskLow: info.diskLow,
    readOnlyReason: info.readOnlyReason,
    setAsideRuns: info.setAsideRuns.map(Number),
    scrubRounds: scrub?.rounds ?? 0,
    lastRoundAtMs: scrub?.lastRoundAt === undefined ? 0 : timestampMs(scrub.lastRoundAt),
    findings: scrub?.findings.map(({ message }) => message) ?? [],
    findingCount: scrub?.findingCount ?? 0,
  };
}
