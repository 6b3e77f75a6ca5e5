import { join, resolve } from "node:path";
import { tokenFileName } from "../../access/token-file.js";
import { readCrashPoints } from "../../kernel/crash-points.js";
import { CrashStore } from "../../kernel/crash-store.js";
import type { Kernel } from "../../kernel/kernel.js";
import { openKernel } from "../../kernel/open-kernel.js";
import type { CheckpointOptions } from "../../kernel/storage/checkpointer.js";
import type { LogRetention } from "../../kernel/storage/log-retention.js";
import { removeKernelFile, writeKernelFile } from "../../log/data-folder.js";
import { writeLastCheck } from "../../log/last-check.js";
import type { DataFolder } from "../../log/open-store.js";
import { createLog, describeError, type Log } from "../../observe/log.js";
import { readLogLevel } from "../../observe/log-level.js";
import { Metrics } from "../../observe/metrics.js";
import type { TokenSource } from "../../rpc/access/token-watch.js";
import { type RunningServer, startServer } from "../../rpc/server.js";
import type { TlsSource } from "../../rpc/tls-files.js";
import { usageError } from "../cli-error.js";
import type { ServeOptions } from "../commands/serve.js";
import type { CliContext } from "../context.js";
import { kernelUrl } from "../kernel-url.js";
import { readVersion } from "../version.js";
import { explainServeError } from "./explain-serve-error.js";
import { openFolder } from "./open-folder.js";

/** How long open calls may take to end by themselves; the rest of the 5 s of a stop is for the last checkpoint. */
const DRAIN_MS = 2_000;

/** A kernel that serves a data folder on a port. */
export interface HostedKernel {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** True if the store was made by this start. */
  readonly isNew: boolean;
  /** Resolves with the error when the store fails. */
  readonly failed: Promise<Error>;
  /** Drains, writes the last checkpoint, closes everything. */
  close(): Promise<void>;
  /** After a failure of the store: ends what is open and leaves the folder to the next start. */
  abandon(): Promise<void>;
}

/** What is hosted. */
export interface HostOptions extends ServeOptions {
  /** Bounds of the checkpointer; default: the kernel's own. */
  readonly checkpoint?: CheckpointOptions;
}

/**
 * Opens folder, kernel and port, in this order. Errors: `CliError`, with what to do next.
 * @param opening the folder, when it is being opened already.
 */
export async function hostKernel(
  context: CliContext,
  options: HostOptions,
  opening: Promise<DataFolder> = openFolder(context, options),
): Promise<HostedKernel> {
  const directory = resolve(context.cwd, options.dir);
  const opened: { close: () => Promise<void> }[] = [];
  const log = openLog(context, options);
  try {
    const crash = readCrashPoints(context.env);
    const folder = await opening;
    // Closing twice is the same as once: the kernel closes its store, too.
    opened.push(folder);
    crash?.hit("start:opened");
    const metrics = new Metrics({ isProcess: true });
    const kernel = await openKernel({
      store: crash === undefined ? folder.store : new CrashStore(folder.store, crash),
      secret: folder.secret,
      disk: { ballast: folder.ballast },
      version: readVersion(),
      ...(options.checkpoint === undefined ? {} : { checkpoint: options.checkpoint }),
      logRetention: retentionOf(options),
      log,
      meter: metrics,
    });
    opened.push(kernel);
    crash?.hit("start:recovered");
    const server = await startServer({
      kernel,
      host: options.host,
      port: options.port,
      ...{ tokens: tokenSource(context, directory, options), ...tlsOf(context, options) },
      allowedHosts: options.allowHost ?? [],
      log,
      metrics,
    });
    metrics.watchKernel(() => kernel.gauges());
    metrics.watchFolder(directory);
    kernel.onScrubbed(() => void keepScrub(kernel, directory, log));
    opened.push(server);
    const hasTls = options.tlsCert !== undefined;
    await announce(directory, { host: options.host, port: server.port, tls: hasTls });
    log.info({ host: options.host, port: server.port, folder: directory }, "The kernel listens");
    return hosted({ folder, kernel, server, host: options.host, hasTls, log });
  } catch (error) {
    for (const part of opened.reverse()) await part.close();
    throw await explainServeError(error, options);
  }
}

function retentionOf(options: HostOptions): Partial<LogRetention> {
  const { logRetentionMs: ms, logRetentionBytes: bytes } = options;
  return { ...(ms === undefined ? {} : { ms }), ...(bytes === undefined ? {} : { bytes }) };
}

/** For `pawl doctor`, when no kernel can be asked. */
async function keepScrub(kernel: Kernel, directory: string, log: Log): Promise<void> {
  const { nowMs, scrub } = kernel.info();
  try {
    await writeLastCheck(directory, { by: "scrub", atMs: nowMs, problems: scrub.findings.length });
  } catch (error) {
    log.warn({ error: describeError(error) }, "What the scrubber found could not be kept");
  }
}

function tlsOf(
  context: CliContext,
  { tlsCert, tlsKey, clientCa }: HostOptions,
): { readonly tls?: TlsSource } {
  if (tlsCert === undefined && tlsKey === undefined && clientCa === undefined) {
    return {};
  }
  if (tlsCert === undefined || tlsKey === undefined) {
    throw usageError("Expected --tls-cert and --tls-key together, but one of them is missing.");
  }
  const at = (path: string): string => resolve(context.cwd, path);
  const clientCaPath = clientCa === undefined ? undefined : at(clientCa);
  return { tls: { certPath: at(tlsCert), keyPath: at(tlsKey), clientCaPath } };
}

function tokenSource(context: CliContext, directory: string, { tokens }: HostOptions): TokenSource {
  return tokens === undefined
    ? { path: join(directory, tokenFileName), isRequired: false }
    : { path: resolve(context.cwd, tokens), isRequired: true };
}

/** The log of this life: on stderr, for people when one reads it. */
function openLog(context: CliContext, { logLevel }: HostOptions): Log {
  const { PAWL_LOG_LEVEL: named = "" } = context.env;
  const { writeLog: write, isLogForPeople: isPretty = false } = context;
  const level = logLevel ?? readLogLevel(named) ?? "info";
  return createLog({ level, isPretty, ...(write === undefined ? {} : { write }) });
}

/** Leaves the hint by which other commands find this kernel. */
async function announce(
  directory: string,
  place: { readonly host: string; readonly port: number; readonly tls: boolean },
): Promise<void> {
  const hint = { pid: process.pid, ...place, startedAt: new Date().toISOString() };
  await writeKernelFile(directory, hint);
}

interface Parts {
  readonly folder: DataFolder;
  readonly kernel: Kernel;
  readonly server: RunningServer;
  readonly host: string;
  readonly hasTls: boolean;
  readonly log: Log;
}

function hosted({ folder, kernel, server, host, hasTls, log }: Parts): HostedKernel {
  const failed = new Promise<Error>((resolveFailed) => kernel.onFailed(resolveFailed));
  return {
    host,
    port: server.port,
    url: kernelUrl(host, server.port, hasTls),
    isNew: folder.isNew,
    failed,
    close: async () => {
      log.info({}, "The kernel stops");
      kernel.drain();
      await server.close({ drainMs: DRAIN_MS });
      // While the folder is still ours: afterwards the hint may be that of the next kernel.
      await removeKernelFile(folder.directory);
      await kernel.close();
      log.info({}, "The last checkpoint is written and the store closed");
    },
    abandon: async () => {
      await server.close({ drainMs: 0 });
      await removeKernelFile(folder.directory);
    },
  };
}
