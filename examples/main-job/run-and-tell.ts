import { connect } from "@pawl/sdk";
import type { Addresses } from "./crew.js";
import { driveRun } from "./driver.js";
import { tellSummary } from "./summary.js";

/** Starts the run of this folder, or goes on with it, and tells how it ended. */
export async function runAndTell(
  { kernel: url, tickets }: Pick<Addresses, "kernel"> & Partial<Addresses>,
  startsNew: boolean,
): Promise<void> {
  const client = connect({ url });
  try {
    await tellSummary(client, await driveRun(client, startsNew), tickets);
  } finally {
    await client.close();
  }
}
