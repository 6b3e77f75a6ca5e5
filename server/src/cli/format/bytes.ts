import { formatNumber } from "./text.js";

const units = ["KiB", "MiB", "GiB", "TiB"] as const;

/** A number of bytes for people: `512 bytes`, `1.5 MiB`. */
export function formatBytes(bytes: number | bigint): string {
  let amount = Number(bytes);
  let unit = "bytes";
  for (const next of units) {
    if (amount < 1024) break;
    amount /= 1024;
    unit = next;
  }
  const rounded = unit === "bytes" || amount >= 100 ? Math.round(amount) : round(amount);
  return `${formatNumber(rounded)} ${unit}`;
}

function round(amount: number): number {
  return Math.round(amount * 10) / 10;
}

const factors: Readonly<Record<string, number>> = {
  "": 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** Reads a number of bytes such as `268435456`, `256MiB` or `2GiB`; undefined: it is none. */
export function readBytes(text: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,15})(KiB|MiB|GiB|TiB)?$/.exec(text) ?? [];
  const bytes = Number(amount) * (factors[unit] ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
