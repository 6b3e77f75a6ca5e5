import { create } from "@bufbuild/protobuf";
import { type WaitOutcome, WaitOutcomeSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { ReadyHeap } from "@pawl/sdk/internal/functions/ready-heap.js";
import { Turns } from "@pawl/sdk/internal/functions/turns.js";
import { expect, test } from "vitest";

const outcomeOf = (number: number): WaitOutcome =>
  create(WaitOutcomeSchema, {
    name: `call ${number}`,
    number,
    outcome: { case: "call", value: {} },
  });

const turnsWith = (outcomes: readonly WaitOutcome[]): Turns =>
  new Turns({
    soon: setImmediate,
    outcomes,
    seenThrough: outcomes.length,
    recordedThrough: 0,
    declare: () => undefined,
    given: () => undefined,
    suspended: () => undefined,
  });

/** Gives these outcomes to code that asks for them in this order; answers in which order it got them. */
async function giveAll(
  outcomes: readonly WaitOutcome[],
  asked: readonly number[],
): Promise<number[]> {
  const turns = turnsWith(outcomes);
  const given: number[] = [];
  const asks = asked.map(async (number) => {
    const name = `call ${number}`;
    await turns.ask({ name, key: undefined, call: undefined, isWanted: () => true });
    given.push(number);
  });
  await Promise.all(asks);
  turns.close();
  return given;
}

test("code that asks in any order is given what ended in the order of the ends", async () => {
  const numbers = Array.from({ length: 1_000 }, (_, at) => at + 1);
  const shuffled = numbers.toSorted(
    (one, other) => ((one * 389) % 1_009) - ((other * 389) % 1_009),
  );
  expect(await giveAll(numbers.map(outcomeOf), shuffled)).toEqual(numbers);
});

test("what ended with one event is given as it was asked for", async () => {
  const outcomes = [1, 2, 3, 4, 5].map((number) => ({ ...outcomeOf(number), number: 9 }));
  expect(await giveAll(outcomes, [3, 1, 5, 2, 4])).toEqual([3, 1, 5, 2, 4]);
});

test("an operation whose late result was recorded after a step is given after it, also when the kernel names its place", async () => {
  const turns = turnsWith([]);
  const given: string[] = [];
  const operation = turns.own(async (place) => {
    place.hold();
    await new Promise((resolve) => setImmediate(resolve));
    place.record(); // Its late result, behind the record of the step.
    place.recordedAt({ after: 0, isOwn: true, number: 7 });
  }, undefined);
  const step = turns.own((place) => place.record(), undefined);
  await Promise.all([
    operation.then(() => given.push("operation")),
    step.then(() => given.push("step")),
  ]);
  turns.close();
  expect(given).toEqual(["step", "operation"]);
});

test("a place is found among thousands that were there before without a look at each", () => {
  let looks = 0;
  const heap = new ReadyHeap();
  const count = 4_000;
  for (let number = count; number > 0; number--) {
    const key = {
      get after(): number {
        looks++;
        return number;
      },
      isOwn: false,
      number,
    };
    heap.add({ key, give: () => undefined });
  }
  for (let number = 1; number <= count; number++) expect(heap.take()?.key.number).toBe(number);
  expect(heap.take()).toBeUndefined();
  expect(looks).toBeLessThan(count * 100);
});
