import {
  type EmbeddedKernel,
  type ReviewInfo,
  type Run,
  type ServedTask,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";
import { expect } from "vitest";

/** Code of a workflow that waits for the signal "go" in the middle. */
export type Code = (ctx: WorkflowContext) => Promise<string>;

const patience = { timeout: 60_000, interval: 20 } as const;

/** A run whose code may be replaced. */
export interface Changing {
  readonly run: Run<string>;
  /** Serves this code from here on, in place of the one before. */
  deploy(code: Code): Promise<void>;
}

/** Runs a code until it waits for the signal "go". */
export async function startOld(
  kernel: EmbeddedKernel,
  code: Code,
  serve: readonly ServedTask[] = [],
  unvisited: "review" | "allow" = "review",
): Promise<Changing> {
  const changing = workflow("changing", { version: 1, unvisited });
  let worker = await kernel.worker({ serve: [changing.run(code), ...serve] });
  const run = await kernel.start(changing.run(code), undefined, { runId: "c" });
  await expect.poll(async () => (await run.get()).why, patience).toContain('"go"');
  return {
    run,
    deploy: async (next) => {
      await worker.close();
      worker = await kernel.worker({ serve: [changing.run(next), ...serve] });
    },
  };
}

/** The review that a run waits for. */
export async function reviewOf(kernel: EmbeddedKernel, runId = "c"): Promise<ReviewInfo> {
  await expect.poll(() => open(kernel, runId), patience).not.toHaveLength(0);
  const [review] = await open(kernel, runId);
  if (review === undefined) {
    throw new Error("expected a review");
  }
  return review;
}

async function open(kernel: EmbeddedKernel, runId: string): Promise<ReviewInfo[]> {
  const reviews: ReviewInfo[] = [];
  for await (const review of kernel.reviews.list({ runId })) {
    reviews.push(review);
  }
  return reviews;
}
