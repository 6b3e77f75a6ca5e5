/** Outcomes by command, as `When.summary` says them. */
export type Row = Readonly<Record<string, string>>;

/** The outcomes of these commands, in their order. */
export function rowOf(names: readonly string[], outcomes: readonly string[]): Row {
  return Object.fromEntries(names.map((name, index) => [name, outcomes[index] ?? ""]));
}
