/**
 * A length of time, as a text that the compiler checks: `"250ms"`, `"30s"`, `"5m"`, `"48h"`, `"7d"`. Plain decimals
 * with one unit; no sign, no exponent, no space. Finite, a whole number of milliseconds, at most 10 years.
 */
export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}`;
