/** What the bench tells the driver process, one JSON line each. */
export type DriverOrder =
  /** Keeps `inFlight` runs of a plan going: warms up, then measures. */
  | {
      readonly kind: "load";
      readonly plan: "queue" | "chain" | "steps";
      readonly inFlight: number;
      readonly warmUpMs: number;
      readonly measureMs: number;
    }
  /** Runs a fan of `width` tasks and a join, `times` times one after another. */
  | {
      readonly kind: "fan";
      /** A plan of so many tasks, or a function that maps over so many. */
      readonly by: "plan" | "function";
      readonly width: number;
      readonly times: number;
    }
  /** Starts runs that stay open, and waits until each start is acknowledged. */
  | { readonly kind: "start"; readonly count: number; readonly prefix: string };

/** What the driver answers. Wrong outcomes are counted, so that a bench of nothing is seen. */
export interface DriverAnswer {
  readonly completed: number;
  readonly wrong: number;
  readonly seconds: number;
  /** Length of each run or fan, in ms; at most the last 100,000. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

/** Progress of a load, printed by the driver when the warm-up is over and in the middle. */
export interface DriverMark {
  readonly mark: "measuring" | "middle";
}
