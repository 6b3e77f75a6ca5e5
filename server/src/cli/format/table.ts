import type { Look, Style } from "./style.js";
import { clean, displayWidth, padEnd } from "./text.js";

/** A cell: text, or text with a look. */
export type Cell = string | { readonly text: string; readonly look: Look };

const GAP = "  ";

/** Aligns rows below their headings. Cells are cleaned; a column that is empty in all rows is left out. */
export function renderTable(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: Style,
): string[] {
  const texts = rows.map((row) => headings.map((_, column) => clean(textOf(row[column]))));
  const columns = headings.flatMap((heading, column) => {
    const widths = texts.map((row) => displayWidth(row[column] ?? ""));
    const width = Math.max(0, ...widths);
    return width === 0 ? [] : [{ column, width: Math.max(width, displayWidth(heading)) }];
  });
  const line = (at: (column: number) => { text: string; look: Look }): string =>
    columns
      .map(({ column, width }, place) => {
        const { text, look } = at(column);
        const isLast = place === columns.length - 1;
        const padding = isLast ? "" : padEnd(text, width).slice(text.length);
        return style(look, text) + padding;
      })
      .join(GAP)
      .trimEnd();
  return [
    line((column) => ({ text: headings[column] ?? "", look: "bold" })),
    ...rows.map((row, index) =>
      line((column) => ({ text: texts[index]?.[column] ?? "", look: lookOfCell(row[column]) })),
    ),
  ];
}

function textOf(cell: Cell | undefined): string {
  if (cell === undefined) return "";
  return typeof cell === "string" ? cell : cell.text;
}

function lookOfCell(cell: Cell | undefined): Look {
  return typeof cell === "object" ? cell.look : "plain";
}
