import { describe, expect, it } from "vitest";
import { recordStep } from "../support/commands.js";
import { leased, stepRecorded } from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS } from "../support/values.js";

const at = (number: number, parts = {}) =>
  recordStep(1, { name: "$publish", key: `${number}`, publishes: "status", ...parts });
const published = (number: number, parts = {}) =>
  stepRecorded(0, 1, {
    name: "$publish",
    key: `${number}`,
    publishes: "status",
    attempt: 1,
    observedAtMs: START_MS,
    ...parts,
  });
const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));

describe("a step that publishes its value", () => {
  it("says when, and by which attempt", () => {
    const { state } = held().when(at(1)).records(published(1)).go();
    expect(state.published.get("status")).toEqual({ step: 0, version: 1 });
  });

  it("takes the place of what was published before under its name, and counts on", () => {
    const { state } = held().given(
      published(1, { value: new Uint8Array(100) }),
      published(2, { value: new Uint8Array(30) }),
      published(3, { publishes: "other", value: new Uint8Array(7) }),
    );
    expect(state.published.get("status")).toEqual({ step: 1, version: 2 });
    expect(state.published.get("other")).toEqual({ step: 2, version: 1 });
    expect(state.publishedBytes).toBe(37);
  });

  it("again publishes nothing anew: a later value stays", () => {
    const scenario = held().given(published(1), published(2, { value: payload(9) }));
    scenario.when(at(1)).isExisting();
    expect(scenario.state.published.get("status")).toEqual({ step: 1, version: 2 });
    scenario.when(at(1, { value: payload(8) })).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("must have a value", () => {
    held()
      .when(at(1, { value: undefined, failure: failure() }))
      .rejects("PAWL_INVALID_FIELD");
  });

  it("is refused with more names or bytes than a run may publish, but may replace one", () => {
    const names = Array.from({ length: 100 }, (_, n) => published(n, { publishes: `n${n}` }));
    const full = held().given(...names);
    full.when(at(200, { publishes: "one more" })).rejects("PAWL_TOO_LARGE", {
      resource: "published names",
      bound: "100 names",
    });
    const { state } = full
      .when(at(200, { publishes: "n7" }))
      .records(published(200, { publishes: "n7" }))
      .go();
    expect(state.published.get("n7")).toEqual({ step: 100, version: 2 });
    const large = new Uint8Array(32_768);
    const heavy = held().given(
      ...Array.from({ length: 32 }, (_, n) => published(n, { publishes: `n${n}`, value: large })),
    );
    heavy.when(at(200)).rejects("PAWL_TOO_LARGE", {
      resource: "published values",
      bound: "1048576 bytes",
    });
    heavy
      .when(at(200, { publishes: "n0", value: large }))
      .records(published(200, { publishes: "n0", value: large }));
  });
});
