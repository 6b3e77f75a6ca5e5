import { type DestinationStream, destination, type Logger, pino } from "pino";
import type { LogLevel } from "./log-level.js";

/** Lines that wait for a reader of stderr that has stopped reading; beyond it lines are dropped, and the kernel goes on. */
const waitingBytesMax = 1024 * 1024;

/**
 * What a line of the log may name. There is no field for content: payloads, headers and messages of failures that callers sent are
 * never logged. Everything that names a run carries its namespace.
 */
export interface LogFields {
  readonly namespace?: string;
  readonly run?: string;
  readonly incarnation?: number;
  readonly workflow?: string;
  readonly task?: string;
  readonly attempt?: number;
  readonly leaseVersion?: number;
  readonly operationKey?: string;
  readonly proposalId?: string;
  readonly reviewId?: string;
  /** W3C trace id of who started the run. */
  readonly traceId?: string;
  readonly worker?: string;
  /** Who did it, or was refused, as the connection proved; never a credential. */
  readonly principal?: string;
  readonly session?: string;
  /** Number of the aggregate in the store. */
  readonly runNumber?: number;
  /** Method of the API, or what the kernel was doing. */
  readonly where?: string;
  readonly reason?: string;
  readonly error?: LoggedError;
  readonly storeId?: string;
  readonly epoch?: number;
  readonly sequence?: number;
  readonly folder?: string;
  readonly host?: string;
  readonly port?: number;
  readonly ms?: number;
  readonly count?: number;
}

/** An error as it is logged. */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}

/** Where the kernel tells whoever runs it what happened: JSON lines, none per command. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** How a log is made. */
export interface LogOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Lines for people instead of JSON. Default false. */
  readonly isPretty?: boolean;
  /** Takes each line, its end included. Default: stderr, without waiting for its reader. */
  readonly write?: (line: string) => void;
}

/** Makes a log. */
export function createLog({ level = "info", isPretty = false, write }: LogOptions = {}): Log {
  const raw: DestinationStream =
    write === undefined
      ? destination({ fd: 2, sync: false, maxLength: waitingBytesMax })
      : { write };
  const stream = isPretty ? prettyStream(raw) : raw;
  const logger: Logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: "message",
    },
    stream,
  );
  return logger;
}

/** Tells nothing. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};

/**
 * An error as it may be logged. A parser's message quotes what it read, which may be content of a caller; so of a `SyntaxError` only
 * the place in the code is told.
 */
export function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) {
    return { type: typeof error, message: "thrown without an Error" };
  }
  const isQuoting = error instanceof SyntaxError;
  const message = isQuoting ? "(not shown, since it may quote content)" : error.message;
  const frames = error.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  return { type: error.name, message, ...code, stack: frames.join("\n") };
}

/** A line for people of each JSON line: time, level, message, then the fields. */
function prettyStream(to: DestinationStream): DestinationStream {
  return {
    write: (line) => {
      const { time, level, message, ...fields }: Record<string, unknown> = JSON.parse(line);
      const rest = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
      to.write(`${[time, String(level).toUpperCase(), message, ...rest].join(" ")}\n`);
    },
  };
}

function shown(value: unknown): string {
  // JSON's escapes keep control characters of foreign names from the terminal.
  const text = typeof value === "string" && /^[\x21-\x7e]+$/.test(value) ? value : undefined;
  return text ?? JSON.stringify(value);
}
