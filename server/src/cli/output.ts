import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { CliContext } from "./context.js";
import type { Field } from "./format/field.js";
import { createStyle, type Style } from "./format/style.js";
import { type Cell, renderTable } from "./format/table.js";
import { clean, cleanLines } from "./format/text.js";
import type { Clock } from "./format/time.js";
import { type Json, messageJson } from "./json.js";

/** Prints the results of one command, for people or as JSON. Results go to stdout, all else to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly style: Style;
  readonly clock: Clock;
  readonly #context: CliContext;

  constructor(context: CliContext, isJson: boolean | undefined) {
    this.#context = context;
    this.isJson = isJson === true;
    this.clock = context.clock;
    this.style = createStyle(context.useColour && !this.isJson);
  }

  /** One object in one line. */
  json(value: Json): void {
    this.#context.writeOut(`${JSON.stringify(value)}\n`);
  }

  /** One message in one line. */
  message<D extends DescMessage>(desc: D, message: MessageShape<D>): void {
    this.json(messageJson(desc, message));
  }

  /** Lines of text that already are safe: sentences whose foreign parts went through `clean`. */
  lines(...lines: readonly string[]): void {
    for (const line of lines) this.#context.writeOut(`${line}\n`);
  }

  /** A table below an empty line. */
  table(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
    this.lines("", ...renderTable(headings, rows, this.style));
  }

  /** Named values, one a line, or in lines below the name; a value of nothing is left out. */
  fields(fields: readonly Field[]): void {
    const shown = fields.flatMap(([name, value]) =>
      value === undefined || value.length === 0 ? [] : [[name, value] as const],
    );
    const width = Math.max(0, ...shown.map(([name]) => name.length));
    for (const [name, value] of shown) {
      if (typeof value === "string") {
        this.lines(`  ${this.style("dim", `${name}:`.padEnd(width + 1))} ${clean(value)}`);
      } else {
        this.lines(`  ${this.style("dim", `${name}:`)}`, ...value);
      }
    }
  }

  /** What may be done next: a heading with commands or sentences. Printed for people only. */
  next(commands: readonly string[]): void {
    if (this.isJson || commands.length === 0) return;
    this.lines("", this.style("bold", "Next:"), ...commands.map((command) => `  ${command}`));
  }

  /** A notice beside the results. */
  notice(text: string): void {
    this.#context.writeError(
      this.isJson ? `${JSON.stringify({ notice: text })}\n` : `${cleanLines(text)}\n`,
    );
  }
}
