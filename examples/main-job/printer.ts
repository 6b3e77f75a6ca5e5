/** Who speaks in the output of `npm start`. */
export type Speaker = "kernel" | "tickets" | "worker" | "run" | "";

const nameWidth = 9;

/** Prints a line for people, with who says it. */
export function say(who: Speaker, text: string): void {
  for (const line of text.split("\n")) {
    process.stdout.write(`${who.padEnd(nameWidth)}${line}`.trimEnd().concat("\n"));
  }
}
