import type { Command } from "commander";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import type { KernelSession } from "../with-kernel.js";

/** Options of every order that is given to a run as a whole: pause, resume, cancel, terminate. */
export interface OrderOptions extends KernelOptions {
  readonly reason: string;
  readonly expectedVersion?: number;
}

/** Adds the run, `--reason`, `--expected-version` and the options of every command that talks to a kernel. */
export function addOrderOptions(command: Command): Command {
  command
    .argument("<run>", "id of the run")
    .option("--reason <text>", "why, for the record", "")
    .option(
      "--expected-version <number>",
      "only if the run has this version",
      wholeNumber(1, UINT32_MAX),
    );
  return addKernelOptions(command);
}

/** The request that gives the order. */
export function orderOf(
  { namespace }: KernelSession,
  runId: string,
  { reason, expectedVersion }: OrderOptions,
): { namespace: string; runId: string; reason: string; expectedVersion?: number } {
  const order = { namespace, runId, reason };
  return expectedVersion === undefined ? order : { ...order, expectedVersion };
}
