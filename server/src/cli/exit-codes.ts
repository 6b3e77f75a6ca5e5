/** What `pawl` ends with. Scripts may rely on them; docs/reference/cli.md lists them. */
export const exitCodes = {
  /** Done. */
  ok: 0,
  /** Refused: by the kernel, by the data folder, or by what a verification found. Nothing was changed. */
  refused: 1,
  /** The command line is not understood; nothing was sent. */
  usage: 2,
  /** No kernel answered; the same command may be given again. */
  unavailable: 69,
  /** The run has what was asked and has not answered it yet; the same command, with the same id, waits for the answer. */
  unanswered: 75,
  /** The store of a kernel failed; opened again, it says what it kept. */
  storeFailed: 70,
} as const;

/** One of the codes above. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
