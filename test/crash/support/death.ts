import type { KernelProcess } from "./crashing-kernel.js";

/** How long a kernel may take until it has come to a boundary, in ms: long for a busy machine, and shorter than a test's own time-out. */
const patienceMs = 45_000;

/** Fails when the kernel ended otherwise than at the boundary. */
export async function expectDeathAt(kernel: KernelProcess, point: string): Promise<void> {
  const { how, errors } = await kernel.ended;
  if (how !== "SIGKILL" || !errors.includes(`crash point ${point} reached`)) {
    throw new Error(
      `Expected the kernel to kill itself at ${point}, but it ended by ${how}, saying "${errors}".`,
    );
  }
}

/**
 * Waits until the kernel has killed itself at a boundary: while `work` is under way, or else while it is given more to do, again and again, since
 * how many commits and checkpoints a piece of work makes depends on how they group. One that never comes there fails with a sentence.
 *
 * @param work what it dies at; may still wait for the next kernel then.
 * @param more something that makes the kernel come to the boundary once more; told how often it was called before.
 */
export async function dieAt(
  kernel: KernelProcess,
  point: string,
  work: Promise<unknown>,
  more: (turn: number) => Promise<unknown>,
): Promise<void> {
  let isOver = false;
  const moreWork = async (): Promise<void> => {
    await work;
    for (let turn = 0; !isOver; turn++) {
      await more(turn);
    }
  };
  const busy = moreWork();
  // What waits for the next kernel is not waited for here.
  busy.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new Error(
          `Expected the kernel to come to ${point} within ${patienceMs} ms, but it is still there.`,
        ),
      );
    }, patienceMs);
  });
  try {
    await Promise.race([kernel.ended, busy, late]);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
  await expectDeathAt(kernel, point);
}
