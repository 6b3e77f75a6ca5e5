import type { ShadowLog } from "./shadow-log.js";
import type { Watcher } from "./watcher.js";

/** What a watcher saw over all its connections must be exactly the durable events of runs since it began, each once and in order. */
export function checkWatch(
  { seen, since }: Watcher,
  shadow: ShadowLog,
  complain: (text: string) => void,
): void {
  if (since === undefined) {
    return;
  }
  const expected = [...shadow.runs.values()]
    .filter(({ state }) => state.kind === "run")
    .flatMap(({ number, events }) => events.map((event) => ({ run: number, event })))
    .filter(({ event }) => event.sequence > since)
    .sort((one, other) => one.event.sequence - other.event.sequence)
    .map(
      ({ run, event }) => `${event.sequence}: run ${run} event ${event.number} ${event.body.case}`,
    );
  const actual = seen.map(
    ({ sequence, runNumber, number, what }) =>
      `${sequence}: run ${runNumber} event ${number} ${what}`,
  );
  for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
    if (expected[index] !== actual[index]) {
      complain(
        `the watcher's event ${index} should be ${expected[index] ?? "none"}, but it saw ${actual[index] ?? "none"}`,
      );
      return;
    }
  }
}
