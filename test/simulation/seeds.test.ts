import { writeSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { functionKinds } from "./support/functions/count-functions.js";
import { describeFailure, Tally } from "./support/report.js";
import { drawSettings } from "./support/settings.js";
import { simulate } from "./support/simulation.js";

const { SIM_SEED: only, SIM_SEEDS: others } = process.env;
const asked = only ?? others;
const [from = 1, to = from] = (asked ?? "1-300").split("-").map(Number);
const perTest = 30;

const tally = new Tally();
afterAll(() => tally.print("seeds"));

async function expectSound(seed: number): Promise<void> {
  const result = await simulate({ seed, settings: drawSettings(seed) });
  tally.add(result);
  if (result.violations.length > 0) {
    throw new Error(describeFailure(result));
  }
  if (only !== undefined) {
    writeSync(1, `${result.trace.join("\n")}\n`);
  }
}

const chunks: (readonly [number, number])[] = [];
for (let first = from; first <= to; first += perTest) {
  chunks.push([first, Math.min(to, first + perTest - 1)]);
}

describe("a kernel among crashes, lost messages, frozen workers and failing disks", () => {
  it.each(chunks)(
    "keeps every promise in seeds %i to %i",
    { timeout: 120_000 },
    async (first, last) => {
      for (let seed = first; seed <= last; seed++) {
        await expectSound(seed);
      }
    },
  );
});

describe.skipIf(asked !== undefined)("the simulator", () => {
  it.each([3, 17, 40, 61, 99])("does the same for seed %i each time", async (seed) => {
    const [one, other] = [
      await simulate({ seed, settings: drawSettings(seed) }),
      await simulate({ seed, settings: drawSettings(seed) }),
    ];
    expect(one.trace.length).toBeGreaterThan(100);
    expect(other.trace).toEqual(one.trace);
    expect(other.stats).toEqual(one.stats);
  });

  // What chance seldom brings is not left to it: `scenes.test.ts` brings it about.
  it("comes to everything that it is there for", () => {
    const never = [
      ...["taskCompleted", "attemptFailed", "taskTimedOut", "taskCancelled", "stepRecorded"],
      ...["taskSuspended", "told SuspendTask existing", "told SendSignal existing"],
      ...["timerFired", "timedOut", "signalTaken", "inputGiven"].map((how) => `wait ended: ${how}`),
      ...["childEnded", "wait ended: child"],
      ...["obligationMade", "told MakeObligation existing", "wait ended: obligation"],
      ...[2, 3, 4].map((status) => `obligation answered: ${status}`),
      ...["told ProvideInput", "told SendSignal"],
      ...["runPaused", "runResumed", "taskChanged", "runRestarted"],
      ...["update answered", "published"],
      ...["runContinued", "runTimedOut", "told ContinueRun existing"],
      ...["operationDoubted", "reviewOpened", "cancelRequested", "ledger status 1"],
      // Leases that end: expired, not acknowledged, returned, not held, timed out, for a review, after the grace, terminated, withdrawn.
      ...[1, 2, 3, 4, 5, 6, 7, 8, 10].map((reason) => `lease ended: ${reason}`),
      ...["result", "result late", "refused", "notSent", "unknown"].map(
        (how) => `observed: ${how}`,
      ),
      ...["found", "absent", "unknown"].map((finding) => `reconciled: ${finding}`),
      ...[1, 2, 3, 4, 5, 6].map((choice) => `resolved: ${choice}`),
      ...["proceed", "reuse", "lookUp", "wait", "review", "paused"].map(
        (case_) => `told IntendOperation ${case_}`,
      ),
      ...["StartRun", "CompleteTask", "RecordStep", "ObserveOperation"].map(
        (kind) => `told ${kind} existing`,
      ),
      ...[2, 3, 4, 5].map((status) => `run status ${status}`),
      ...functionKinds,
      ...["without all", "over a failure"].map((how) => `join: ${how}`),
    ].filter((what) => !tally.seen.has(what));
    expect(never).toEqual([]);
  });
});
