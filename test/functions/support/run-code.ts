import { type EmbeddedKernel, RecordedFailure, RunFailed, type ServedTask } from "@pawl/sdk";

/** How a run of this workflow fails: the recorded failure of its function. */
export async function failureOf(
  kernel: EmbeddedKernel,
  serve: readonly [ServedTask<undefined, unknown>, ...ServedTask[]],
): Promise<RecordedFailure> {
  const worker = await kernel.worker({ serve });
  const error: unknown = await kernel
    .execute(serve[0], undefined, { timeout: "30s" })
    .catch((thrown: unknown) => thrown);
  await worker.close();
  return recordedFailure(error);
}

/** The recorded failure of the function behind the error of a run. */
export function recordedFailure(error: unknown): RecordedFailure {
  const cause = error instanceof RunFailed ? error.failure?.cause : undefined;
  if (!(cause instanceof RecordedFailure)) {
    throw new Error("expected the function to have failed", { cause: error });
  }
  return cause;
}
