import { RejectionError } from "@pawl/server/kernel/outcome.js";
import type { Timed } from "../caller.js";
import type { Worker } from "../worker.js";
import type { Offer } from "../worker-connection.js";
import { type Page, pageOf } from "./given.js";

/** A page, and how many events the run had then. */
export interface ReadPage {
  readonly page: Page;
  readonly eventCount: number;
}

/** Reads on in what is recorded for a task, as GetRecords does; `gone` when its run has begun once more. */
export function readPage(
  worker: Worker,
  { target, task, incarnation, runId }: Offer,
  place: { readonly after: number; readonly isWarm: boolean },
): Promise<Timed<ReadPage | "gone">> {
  return worker.call<ReadPage | "gone">(`for records of ${runId} after ${place.after}`, (reply) => {
    worker.world.host.deliver((kernel) => {
      kernel
        .view(target, (run, runNumber) =>
          run.incarnation === incarnation
            ? {
                page: pageOf(run, task, { ...place, runNumber }),
                eventCount: run.eventCount,
              }
            : ("gone" as const),
        )
        .then(reply, (error: unknown) => {
          // A kernel that went away is asked again.
          if (error instanceof RejectionError) reply("gone");
          else worker.world.note(`records of ${runId}: ${String(error)}`);
        });
    });
  });
}
