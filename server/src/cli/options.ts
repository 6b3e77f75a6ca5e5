import type { DescEnum } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError } from "commander";
import type { CredentialOptions } from "./credentials.js";
import { readBytes } from "./format/bytes.js";
import { enumChoices, enumValue } from "./format/enum-word.js";

/** Options of every command that talks to a kernel. */
export interface KernelOptions extends CredentialOptions {
  readonly json?: boolean;
  readonly url?: string;
  readonly namespace?: string;
}

/** Adds `--json`, `--url`, `--namespace`, and how to say who calls. */
export function addKernelOptions(command: Command): Command {
  return command
    .option("--json", "print JSON: one object, or one a line")
    .option(
      "--url <url>",
      "address of the kernel (default: the one that serves ./.pawl, else http://127.0.0.1:7295)",
    )
    .option("--namespace <name>", "namespace of the run or operation (default: default)")
    .option(
      "--token-file <file>",
      "file with the token to send (default: PAWL_TOKEN, PAWL_TOKEN_FILE)",
    );
}

/** Reads a whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** Reads the word of an enum value. */
export function enumWordOption(desc: DescEnum): (text: string) => number {
  return (text) => {
    const value = enumValue(desc, text.toLowerCase());
    if (value === undefined) {
      throw new InvalidArgumentError(`Expected one of ${enumChoices(desc).join(", ")}.`);
    }
    return value;
  };
}

/** Gathers `key=value` over several uses of an option. */
export function keyValue(
  text: string,
  before: readonly (readonly [string, string])[] = [],
): (readonly [string, string])[] {
  const split = text.indexOf("=");
  if (split < 1) throw new InvalidArgumentError("Expected key=value.");
  return [...before, [text.slice(0, split), text.slice(split + 1)]];
}

/** Gathers text over several uses of an option. */
export function gatherText(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Largest 32-bit number, the bound of versions and event numbers. */
export const UINT32_MAX = 4_294_967_295;

/** A position, as an earlier line with `--json` gave it. */
export function readPosition(text: string): Uint8Array {
  const bytes = Buffer.from(text, "base64");
  if (text === "" || bytes.toString("base64") !== text) {
    throw new InvalidArgumentError("Expected a position as an earlier --json line gave it.");
  }
  return new Uint8Array(bytes);
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Reads a number of bytes such as `268435456` or `256MiB`. */
export function readByteCount(text: string): number {
  const bytes = readBytes(text);
  if (bytes === undefined) {
    throw new InvalidArgumentError(
      "Expected a number of bytes, such as 268435456, 256MiB or 2GiB.",
    );
  }
  return bytes;
}

/** Longest time to live: ten years. */
const lengthMsMax = 3650 * 86_400_000;

/** Reads a length of time such as `90d`, `12h`, `30m`, `45s`, `500ms`, in ms. */
export function readLength(text: string): number {
  const [, count, unit = ""] = /^(\d{1,9})(ms|[smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (!(ms <= lengthMsMax)) {
    throw new InvalidArgumentError(
      "Expected a length of time of at most ten years, such as 90d, 12h, 30m, 45s or 500ms.",
    );
  }
  return ms;
}
