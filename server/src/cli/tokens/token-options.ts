import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { TokenFileError, tokenFileName } from "../../access/token-file.js";
import { CliError } from "../cli-error.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { FollowUps } from "../follow-up.js";
import { DEFAULT_FOLDER } from "../kernel-url.js";

/** Options of every `pawl token` command. */
export interface TokenFileOptions {
  readonly dir: string;
  readonly tokens?: string;
  readonly json?: boolean;
}

/** Adds `--dir`, `--tokens` and `--json`. */
export function addTokenFileOptions(command: Command): Command {
  return command
    .option("--dir <folder>", "the data folder, whose token file is meant", DEFAULT_FOLDER)
    .option("--tokens <file>", "another token file; serve it with pawl serve --tokens")
    .option("--json", "print JSON: one object, or one a line");
}

/** The token file that the options name. */
export function tokenPath(context: CliContext, { dir, tokens }: TokenFileOptions): string {
  return resolve(context.cwd, tokens ?? join(dir, tokenFileName));
}

/** Commands on the same token file. */
export function tokenFollowUps({ dir, tokens }: TokenFileOptions): FollowUps {
  return new FollowUps({ dir: dir === DEFAULT_FOLDER ? undefined : dir, tokens });
}

/** Makes the folder of a token file: tokens may come before the store. */
export async function makeFolderOf(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
}

/** Does the work on a token file; what is wrong with it comes out as a `CliError`. */
export async function onTokenFile<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenFileError) {
      const { message, code } = error;
      const next = ["Mend the file that is named, then give the same command again."];
      throw new CliError(message, {
        exitCode: exitCodes.refused,
        reason: code,
        next,
        cause: error,
      });
    }
    if (error instanceof Error && "syscall" in error) {
      throw refuseToken(
        `Expected to read and change the token file and its folder, but the system refuses: ${error.message}. Check --dir and --tokens, and whose they are.`,
      );
    }
    throw error;
  }
}

/** A refusal of what was asked of the token file. */
export function refuseToken(message: string, next: readonly string[] = []): CliError {
  return new CliError(message, { exitCode: exitCodes.refused, reason: "PAWL_TOKEN_REFUSED", next });
}
