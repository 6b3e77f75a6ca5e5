import { connect } from "@pawl/sdk";
import type { Addresses } from "./crew.js";
import { type DriveOptions, driveRun } from "./driver.js";
import { tellSummary } from "./summary.js";
import { ownToken } from "./token.js";

/** Starts the run of this folder, or goes on with it, and tells how it ended. */
export async function runAndTell(
  { kernel: url, tickets }: Pick<Addresses, "kernel"> & Partial<Addresses>,
  options: DriveOptions,
): Promise<void> {
  // An outage is told by the supervisor, which sees the kernel end; the client only waits for the next one.
  await using client = connect({ url, ...ownToken(), onConnection: () => undefined });
  await tellSummary(client, await driveRun(client, options), tickets);
}
