import type { Run } from "@pawl/server/core/state.js";
import { endedFor, endOf } from "@pawl/server/rpc/streams/ended-for.js";
import { expect, test } from "vitest";
import { leased, timerDeclared, waitEnded, waitsOpened } from "../core/support/events.js";
import { Scenario } from "../core/support/scenario.js";

/** A task that waited 200 times, one wait after another; and how many of them are looked at. */
function waitedOften(): { readonly run: Run; readonly looks: () => number } {
  const scenario = Scenario.ofOne().given(leased(0, 1));
  for (let n = 0; n < 200; n++) {
    scenario.given(waitsOpened(0, 1, [timerDeclared({ name: `t${n}` })]), waitEnded(0, n));
  }
  let looks = 0;
  const waits = new Proxy(scenario.state.waits, {
    get: (target, key, receiver): unknown => {
      looks += typeof key === "string" && /^\d+$/.test(key) ? 1 : 0;
      return Reflect.get(target, key, receiver);
    },
  });
  return { run: { ...scenario.state, waits }, looks: () => looks };
}

test("what ended since an event is found without a look at all that ended before", () => {
  const { run, looks } = waitedOften();
  const last = run.eventCount;
  const ended = endedFor(run, 0, last - 4);
  expect(ended.map(endOf)).toEqual([last - 2, last]);
  expect(looks()).toBeLessThan(10);
  expect(endedFor(run, 0, last)).toEqual([]);
  expect(endedFor(run, 0, 0)).toHaveLength(200);
});
