import fc from "fast-check";

const verbs = [
  "lease",
  "complete",
  "continue",
  "fail",
  "confirmCancel",
  "endLease",
  "step",
  "suspend",
  "declare",
  "call",
  "signal",
  "oblige",
  "answer",
  "childEnd",
  "provide",
  "intend",
  "observe",
  "reconcile",
  "fire",
  "change",
  "pause",
  "resume",
  "cancel",
  "terminate",
  "rewind",
  "retry",
  "resolve",
  "propose",
  "decide",
  "withdraw",
  "revoke",
  "expire",
  "expireRun",
  "revise",
  "hold",
  "delete",
] as const;
/** What a move does. */
export type Verb = (typeof verbs)[number];

/** A command in the making: what it means depends on the state it meets, so that many are legal and many are not. */
export interface Move {
  readonly verb: Verb;
  /** Picks a task, operation or review. */
  readonly which: number;
  /** True: among those that the verb suits; false: among all, and one that does not exist. */
  readonly aims: boolean;
  /** How far behind (or ahead of) the current lease or version: mostly 0. */
  readonly stale: number;
  /** Picks names, reasons, outcomes, choices. */
  readonly pick: number;
  /** Which content: mostly the same. */
  readonly content: number;
  /** Time that passes before it. */
  readonly waitMs: number;
}

const weights: Readonly<Record<Verb, number>> = {
  lease: 14,
  complete: 6,
  continue: 4,
  fail: 5,
  confirmCancel: 2,
  endLease: 6,
  step: 4,
  suspend: 8,
  declare: 3,
  call: 6,
  signal: 5,
  oblige: 5,
  answer: 5,
  childEnd: 3,
  provide: 3,
  intend: 16,
  observe: 10,
  reconcile: 8,
  fire: 8,
  change: 4,
  pause: 2,
  resume: 4,
  cancel: 1,
  terminate: 1,
  rewind: 3,
  retry: 2,
  resolve: 6,
  propose: 8,
  decide: 12,
  withdraw: 1,
  revoke: 1,
  expire: 2,
  expireRun: 2,
  revise: 4,
  hold: 1,
  delete: 2,
};

function moveArbitrary(allowed: readonly Verb[]): fc.Arbitrary<Move> {
  const small = { max: 11 };
  return fc.record({
    verb: fc.oneof(
      ...allowed.map((verb) => ({ weight: weights[verb], arbitrary: fc.constant(verb) })),
    ),
    which: fc.nat(small),
    aims: fc.oneof(
      { weight: 9, arbitrary: fc.constant(true) },
      { weight: 1, arbitrary: fc.constant(false) },
    ),
    stale: fc.oneof(
      { weight: 12, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(-1, 1, 2) },
    ),
    pick: fc.nat(small),
    content: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constant(1) },
    ),
    waitMs: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 900 }) },
      { weight: 3, arbitrary: fc.constantFrom(1000, 5000, 20_000) },
    ),
  });
}

/** Sequences of moves on a run. */
export const runMoves: fc.Arbitrary<readonly Move[]> = fc.array(moveArbitrary(verbs), {
  maxLength: 60,
  size: "max",
});

/** The same, but the run never goes back to an earlier point. */
export const onwardMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  moveArbitrary(verbs.filter((verb) => verb !== "rewind" && verb !== "retry")),
  { maxLength: 60, size: "max" },
);

/** Sequences of moves on an operation of scope NAMESPACE. */
export const ledgerMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  moveArbitrary([
    "intend",
    "observe",
    "reconcile",
    "resolve",
    "propose",
    "decide",
    "withdraw",
    "revoke",
    "expire",
  ]),
  { maxLength: 30, size: "max" },
);

/** Sequences of moves around the effects of a run: deep into calls, doubts, look-ups and reviews. */
export const effectMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  moveArbitrary(["lease", "intend", "observe", "observe", "reconcile", "endLease", "resolve"]),
  { minLength: 8, maxLength: 40, size: "max" },
);

/** Sequences of moves around approvals: proposed, decided, used, and too late. */
export const approvalMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  moveArbitrary([
    ...([
      "lease",
      "propose",
      "decide",
      "decide",
      "intend",
      "intend",
      "observe",
      "reconcile",
    ] as const),
    ...(["endLease", "resolve", "withdraw", "revoke", "expire"] as const),
  ]),
  { minLength: 8, maxLength: 40, size: "max" },
);
