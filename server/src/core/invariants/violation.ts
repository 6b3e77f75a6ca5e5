/** Something that never may be so. */
export interface Violation {
  /** What it is about: `run`, `task 3`, `operation 0`, `step 7`, `review 1`. */
  readonly subject: string;
  readonly expected: string;
  readonly actual: string;
}

/** Builds a violation. */
export function violation(subject: string, expected: string, actual: string): Violation {
  return { subject, expected, actual };
}

/** A rule: whether it holds, what is expected, what is instead. */
export type Rule = readonly [isGood: boolean, expected: string, actual: string];

/** The violations among the rules about one thing. */
export function breaches(subject: string, rules: readonly Rule[]): Violation[] {
  return rules
    .filter(([isGood]) => !isGood)
    .map(([, expected, actual]) => violation(subject, expected, actual));
}
