/** `npm run bench -- [NAME…] [--json] [--check] [--mini]` */
import { parseArgs } from "node:util";
import { measureFan } from "./fan-bench.js";
import { type Figures, missedFloors } from "./floors.js";
import { measureLoad } from "./load-bench.js";
import { measureOpen } from "./open-bench.js";

/** Measures all loads of one bench; `mini` takes seconds and says nothing about speed. */
type Bench = (mini: boolean) => AsyncIterable<Figures>;

/** In flight under `single` is one; the warm-up is long enough for the compiler to have settled. */
async function* measureLoads(bench: "queue" | "chain", mini: boolean): AsyncIterable<Figures> {
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

const benches: Readonly<Record<string, Bench>> = {
  queue: (mini) => measureLoads("queue", mini),
  chain: (mini) => measureLoads("chain", mini),
  fan: async function* (mini) {
    yield await measureFan(mini ? { width: 50, times: 3 } : { width: 1000, times: 60 });
  },
  open: async function* (mini) {
    yield await measureOpen({ runs: mini ? 500 : 100_000 });
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    mini: { type: "boolean", default: false },
  },
});

function print(figures: Figures): void {
  const line = values.json
    ? JSON.stringify(figures)
    : Object.entries(figures)
        .map(([name, value]) => `${name} ${value}`)
        .join(" · ");
  process.stdout.write(`${line}\n`);
}

function problemsOf(figures: Figures): string[] {
  const wrong =
    figures["wrong"] === 0 ? [] : [`Expected no wrong outcome, but ${figures["wrong"]} were.`];
  return values.check && !values.mini ? [...wrong, ...missedFloors(figures)] : wrong;
}

const names = positionals.length === 0 ? Object.keys(benches) : positionals;
for (const name of names) {
  const bench = benches[name];
  if (bench === undefined) {
    process.stderr.write(
      `Expected one of ${Object.keys(benches).join(", ")}, but got "${name}".\n`,
    );
    process.exit(2);
  }
  for await (const figures of bench(values.mini)) {
    print(figures);
    for (const problem of problemsOf(figures)) {
      process.stderr.write(`${figures["bench"]} ${figures["load"]}: ${problem}\n`);
      process.exitCode = 1;
    }
  }
}
