/**
 * Resolves when stdin closes: the parent asked this process to end, or is gone. Signals are left to the parent, which is the
 * one that reacts to them.
 */
export function stdinClosed(): Promise<void> {
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
  return new Promise((resolve) => {
    const done = (): void => resolve();
    process.on("SIGTERM", done);
    process.stdin.on("end", done).on("close", done).on("error", done).resume();
  });
}
