import fc from "fast-check";

/** What an effect meets at its sink. */
export type Mishap =
  /** The sink does what it is asked. */
  | "none"
  /** The first call never leaves. */
  | "not-sent"
  /** The first call has its effect, and its answer is lost. */
  | "answer-lost"
  /** The sink says no. */
  | "refused";

export type SinkKind = "idempotent" | "reconcilable" | "opaque";

/** A program: what a workflow function does, as data. Where one of several wins, it is said which, so that the outcome does not depend on time. */
export type Node =
  | { readonly do: "step" | "read" | "call" | "workflow" | "child" | "signal" | "ask" }
  /** A step that fails for good, and a called task that does: both are caught. */
  | { readonly do: "failing-step" | "failing-call" }
  | { readonly do: "sleep"; readonly minutes: number }
  | { readonly do: "perform" | "approve"; readonly sink: SinkKind; readonly mishap: Mishap }
  | { readonly do: "seq" | "all"; readonly nodes: readonly Node[] }
  | { readonly do: "loop"; readonly times: number; readonly body: Node }
  /** `items` of it run the body; as many more wait for longer than anything takes, and are given up. */
  | {
      readonly do: "map";
      readonly items: number;
      readonly late: number;
      readonly concurrency: number;
      readonly body: Node;
    }
  /** The body wins against a wait that takes longer than anything. */
  | { readonly do: "race" | "any"; readonly body: Node }
  /** Whoever comes first wins, by the host's own race: which of them depends on time, and must only never change. */
  | { readonly do: "contest"; readonly nodes: readonly Node[] };

const leaf: fc.Arbitrary<Node> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "step" as const,
        "read" as const,
        "call" as const,
        "workflow" as const,
        "child" as const,
        "signal" as const,
        "ask" as const,
        "failing-step" as const,
        "failing-call" as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("sleep" as const), minutes: fc.nat(90) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("perform" as const, "perform" as const, "approve" as const),
      sink: fc.constantFrom("idempotent" as const, "reconcilable" as const, "opaque" as const),
      mishap: fc.constantFrom(
        "none" as const,
        "none" as const,
        "not-sent" as const,
        "answer-lost" as const,
        "refused" as const,
      ),
    }),
  },
);

/** Programs, nested as deep as this. */
function nodes(depth: number): fc.Arbitrary<Node> {
  if (depth === 0) return leaf;
  const inner = nodes(depth - 1);
  const some = fc.array(inner, { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom("seq" as const, "all" as const), nodes: some }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("contest" as const), nodes: some }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("loop" as const),
        times: fc.integer({ min: 1, max: 3 }),
        body: inner,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("map" as const),
        items: fc.integer({ min: 1, max: 3 }),
        late: fc.nat(2),
        concurrency: fc.integer({ min: 3, max: 6 }),
        body: inner,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constantFrom("race" as const, "any" as const),
        body: inner,
      }),
    },
  );
}

/** Programs of several parts. */
export const programs: fc.Arbitrary<Node> = fc
  .array(nodes(2), { minLength: 1, maxLength: 3 })
  .map((parts) => ({ do: "seq" as const, nodes: parts }));

/** What dies at which of the moments that the code goes through. */
export interface Crash {
  readonly moment: number;
  readonly kill: "worker" | "kernel" | "both";
}

/** How an execution goes, besides what the program says. */
export interface Circumstances {
  readonly crashes: readonly Crash[];
  readonly warmBytesMax: number;
  readonly slots: number;
  readonly workers: number;
  /** Turns of the event loop that steps and sinks take, one after the other. */
  readonly pace: readonly number[];
}

/** Nothing dies, and everything goes on in memory. */
export const undisturbed: Circumstances = {
  crashes: [],
  warmBytesMax: 1_000_000,
  slots: 16,
  workers: 1,
  pace: [0],
};

/** Crashes at any moments, of memories and machines of any size. */
export const circumstances: fc.Arbitrary<Circumstances> = fc.record({
  crashes: fc.uniqueArray(
    fc.record({
      moment: fc.integer({ min: 1, max: 60 }),
      kill: fc.constantFrom("worker" as const, "kernel" as const, "both" as const),
    }),
    { maxLength: 4, selector: ({ moment }) => moment },
  ),
  warmBytesMax: fc.constantFrom(0, 3_000, 1_000_000),
  slots: fc.constantFrom(1, 2, 16),
  workers: fc.integer({ min: 1, max: 2 }),
  pace: fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }),
});
