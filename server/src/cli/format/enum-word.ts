import type { DescEnum } from "@bufbuild/protobuf";
import { lookOf } from "./style.js";
import type { Cell } from "./table.js";

/** The word of an enum value: its name without the prefix. A value of a newer kernel is told by its number. */
export function enumWord(desc: DescEnum, value: number): string {
  return desc.value[value]?.localName ?? `UNKNOWN_${value}`;
}

/** The same as a cell, with the look of that state. */
export function enumCell(desc: DescEnum, value: number): Cell {
  const text = enumWord(desc, value);
  return { text, look: lookOf(text) };
}

/** The words that an option may name, in lower case, without UNSPECIFIED. */
export function enumChoices(desc: DescEnum): string[] {
  return desc.values
    .filter(({ number }) => number !== 0)
    .map(({ localName }) => toOption(localName));
}

/** The value that an option's word names; undefined when there is none. */
export function enumValue(desc: DescEnum, word: string): number | undefined {
  return desc.values.find(({ localName, number }) => number !== 0 && toOption(localName) === word)
    ?.number;
}

function toOption(localName: string): string {
  return localName.toLowerCase().replaceAll("_", "-");
}
