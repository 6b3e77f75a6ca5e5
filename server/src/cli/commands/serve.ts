import { type Command, Option } from "commander";
import { type LogLevel, logLevels } from "../../observe/log-level.js";
import { DEFAULT_FOLDER, DEFAULT_HOST, DEFAULT_PORT } from "../kernel-url.js";
import { gatherText, readByteCount, readLength, wholeNumber } from "../options.js";

/** Options of `pawl serve`. */
export interface ServeOptions {
  readonly dir: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Token file; absent: that of the data folder, if there is one. */
  readonly tokens?: string;
  /** Files of TLS; both or none. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Authority of client certificates. */
  readonly clientCa?: string;
  readonly allowHost?: readonly string[];
  readonly exitWithParent?: boolean;
  /** Absent: only when a person started it from a terminal. */
  readonly restart?: boolean;
  /** Changes the store's setting; absent: it stays as it is. */
  readonly logRetentionMs?: number;
  readonly logRetentionBytes?: number;
  readonly json?: boolean;
  /** Absent: `PAWL_LOG_LEVEL`, else `info`. */
  readonly logLevel?: LogLevel;
}

/** Does `pawl serve`; the answer is the exit code. */
export type Serve = (options: ServeOptions) => Promise<number>;

/** `pawl serve`. */
export function addServe(
  program: Command,
  serve: Serve,
  setExitCode: (code: number) => void,
): void {
  program
    .command("serve")
    .description("serve a data folder; an absent or empty one becomes a new store")
    .option("--dir <folder>", "the data folder", DEFAULT_FOLDER)
    .option("--host <address>", "address to listen on", DEFAULT_HOST)
    .option(
      "--port <number>",
      "port to listen on; 0 takes any free one",
      wholeNumber(0, 65_535),
      DEFAULT_PORT,
    )
    .option(
      "--tokens <file>",
      "token file (default: tokens.json in the data folder, if it is there)",
    )
    .option("--tls-cert <file>", "serve TLS with this certificate chain (PEM)")
    .option("--tls-key <file>", "its private key (PEM)")
    .option(
      "--client-ca <file>",
      "ask for client certificates, and trust those of this authority (PEM)",
    )
    .option(
      "--allow-host <name>",
      "another name under which it may be asked, as behind a proxy; may be given again",
      gatherText,
    )
    .option(
      "--exit-with-parent",
      "stop when stdin ends, as it does when the parent process is gone",
    )
    .option(
      "--restart",
      "start afresh from disk when the store fails (default: on a terminal only)",
    )
    .option("--no-restart", "end with exit code 70 when the store fails, also on a terminal")
    .option(
      "--log-retention <length>",
      "keep the log behind the rows this long at most, such as 7d; the store remembers it (default: what it remembers, else 7d)",
      readLength,
    )
    .option(
      "--log-retention-bytes <bytes>",
      "keep this much of it at most, such as 256MiB; the store remembers it (default: what it remembers, else 256MiB)",
      readByteCount,
    )
    .option("--json", "print one JSON object when it listens")
    .addOption(
      new Option(
        "--log-level <level>",
        "how much is logged to stderr (default: PAWL_LOG_LEVEL, else info)",
      ).choices(logLevels),
    )
    .action(async ({ logRetention, ...options }: ServeOptions & { logRetention?: number }) => {
      const kept = logRetention === undefined ? {} : { logRetentionMs: logRetention };
      setExitCode(await serve({ ...options, ...kept }));
    });
}
