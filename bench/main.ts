/** `npm run bench -- [NAME…] [--json] [--check] [--mini]` */
import { parseArgs } from "node:util";
import { measureFan } from "./fan-bench.js";
import { type Figures, missedFloors } from "./floors.js";
import { measureHistory } from "./history-bench.js";
import { measureLoad } from "./load-bench.js";
import { measureOpen } from "./open-bench.js";
import { measureParked } from "./parked-bench.js";
import { measureTestkit } from "./testkit-bench.js";
import { measureWake } from "./wake-bench.js";

/** Measures all loads of one bench; `mini` takes seconds and says nothing about speed. */
type Bench = (mini: boolean) => AsyncIterable<Figures>;

/** In flight under `single` is one; the warm-up is long enough for the compiler to have settled. */
async function* measureLoads(
  bench: "queue" | "chain" | "steps",
  mini: boolean,
): AsyncIterable<Figures> {
  const times = mini ? { warmUpMs: 500, measureMs: 1_000 } : { warmUpMs: 8_000, measureMs: 32_000 };
  yield await measureLoad({
    bench,
    load: "saturated",
    inFlight: mini ? 100 : 2000,
    slots: mini ? 100 : 2000,
    ...times,
  });
  const single = mini ? times : { warmUpMs: 3_000, measureMs: 10_000 };
  yield await measureLoad({ bench, load: "single", inFlight: 1, slots: 16, ...single });
}

function fanSize(mini: boolean): { readonly width: number; readonly times: number } {
  return mini ? { width: 50, times: 3 } : { width: 1000, times: 60 };
}

const benches: Readonly<Record<string, Bench>> = {
  queue: (mini) => measureLoads("queue", mini),
  chain: (mini) => measureLoads("chain", mini),
  fan: async function* (mini) {
    yield await measureFan({ by: "plan", ...fanSize(mini) });
  },
  steps: (mini) => measureLoads("steps", mini),
  mapfan: async function* (mini) {
    yield await measureFan({ by: "function", ...fanSize(mini) });
  },
  history: async function* (mini) {
    yield await measureHistory(
      mini ? { steps: 2_000, stopAt: 1_900 } : { steps: 10_000, stopAt: 9_500 },
    );
  },
  wake: async function* (mini) {
    yield await measureWake(
      mini ? { steps: [10, 100], wakes: 3 } : { steps: [10, 1_000, 10_000], wakes: 21 },
    );
  },
  parked: async function* (mini) {
    yield await measureParked({ runs: mini ? 200 : 10_000 });
  },
  testkit: async function* (mini) {
    yield await measureTestkit(mini ? { warmUps: 1, times: 5 } : { warmUps: 10, times: 100 });
  },
  open: async function* (mini) {
    yield await measureOpen({ runs: mini ? 500 : 100_000 });
  },
};

function print(figures: Figures, asJson: boolean): void {
  const line = asJson
    ? JSON.stringify(figures)
    : Object.entries(figures)
        .map(([name, value]) => `${name} ${value}`)
        .join(" · ");
  process.stdout.write(`${line}\n`);
}

const usage = `usage: npm run bench [-- [NAME…] [--json] [--check] [--mini]]
  NAME     ${Object.keys(benches).join(", ")}; without one all
  --json   print one JSON object a line
  --check  end with 1 when a floor is missed
  --mini   take seconds, and say nothing about speed`;

function readArguments(argv: readonly string[]): {
  readonly positionals: readonly string[];
  readonly values: {
    readonly json: boolean;
    readonly check: boolean;
    readonly mini: boolean;
    readonly help: boolean;
  };
} {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      mini: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
}

/** Runs the named benches, or all. Exit code 0, 1 when an outcome was wrong or (`--check`) a floor was missed, 2 for bad arguments. */
export async function main(argv: readonly string[]): Promise<number> {
  let given: ReturnType<typeof readArguments>;
  try {
    given = readArguments(argv);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = given;
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  const names = positionals.length === 0 ? Object.keys(benches) : positionals;
  const unknown = names.find((name) => benches[name] === undefined);
  return unknown === undefined
    ? measureAll(names, values)
    : refuse(`Expected one of ${Object.keys(benches).join(", ")}, but got "${unknown}".`);
}

function refuse(message: string): number {
  process.stderr.write(`npm run bench: ${message}\n${usage}\n`);
  return 2;
}

async function measureAll(
  names: readonly string[],
  values: { readonly json: boolean; readonly check: boolean; readonly mini: boolean },
): Promise<number> {
  let exitCode = 0;
  for (const name of names) {
    for await (const figures of benches[name]?.(values.mini) ?? []) {
      print(figures, values.json);
      const problems = problemsOf(figures, values.check && !values.mini);
      for (const problem of problems) {
        process.stderr.write(`${figures["bench"]} ${figures["load"]}: ${problem}\n`);
      }
      exitCode = problems.length > 0 ? 1 : exitCode;
    }
  }
  return exitCode;
}

function problemsOf(figures: Figures, checkFloors: boolean): string[] {
  const wrong =
    figures["wrong"] === 0 ? [] : [`Expected no wrong outcome, but ${figures["wrong"]} were.`];
  return checkFloors ? [...wrong, ...missedFloors(figures)] : wrong;
}
