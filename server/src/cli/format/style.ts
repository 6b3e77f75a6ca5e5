import { styleText } from "node:util";

/** How a piece of text looks. Colour never says what the words do not. */
export type Look = "plain" | "bold" | "dim" | "good" | "bad" | "attention";

/** Gives text its look, or leaves it as it is where colour is off. */
export type Style = (look: Look, text: string) => string;

const FORMATS = {
  bold: "bold",
  dim: "dim",
  good: "green",
  bad: "red",
  attention: "yellow",
} as const;

/** Makes a style. */
export function createStyle(useColour: boolean): Style {
  return (look, text) => {
    if (!useColour || look === "plain" || text === "") return text;
    // Whether there is colour was decided with the stream at hand.
    return styleText(FORMATS[look], text, { validateStream: false });
  };
}

const GOOD = new Set(["COMPLETED", "OBSERVED", "UNTOUCHED", "REUSED"]);
const BAD = new Set(["FAILED", "TERMINATED", "REFUSED", "ABANDONED"]);
const ATTENTION = new Set(["NEEDS_REVIEW", "IN_DOUBT", "BACKOFF", "RETRIED", "RECONCILED"]);
const DIM = new Set(["SKIPPED", "CANCELLED", "BLOCKED"]);

/** The look of a state, by its name. */
export function lookOf(status: string): Look {
  if (GOOD.has(status)) return "good";
  if (BAD.has(status)) return "bad";
  if (ATTENTION.has(status)) return "attention";
  return DIM.has(status) ? "dim" : "plain";
}
