/** Who speaks in the output of `npm start`. */
export type Speaker = "kernel" | "tickets" | "worker" | "run" | "";

const nameWidth = 9;

/** Prints a line for people, with who says it. */
export function say(who: Speaker, text: string): void {
  for (const line of text.split("\n")) {
    process.stdout.write(`${who.padEnd(nameWidth)}${line}`.trimEnd().concat("\n"));
  }
}

/** Prints what a child writes to stderr, until it is told to stop. What it ends with is told by whoever sees it end. */
export function tellErrors(
  who: Speaker,
  stopping: AbortSignal,
): (line: string, stream: "stdout" | "stderr") => void {
  return (line, stream) => {
    if (stream === "stdout" || stopping.aborted || line.startsWith('{"error":')) return;
    say(who, noticeIn(line) ?? line);
  };
}

/** The sentence in a line of `pawl --json`. */
function noticeIn(line: string): string | undefined {
  if (!line.startsWith('{"notice":')) return undefined;
  const { notice }: { readonly notice: string } = JSON.parse(line);
  return notice;
}
