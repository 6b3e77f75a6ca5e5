import { RecordKind } from "@pawl/proto/v1/worker_service_pb.js";
import { recordedNames } from "@pawl/server/rpc/streams/recorded-names.js";
import { describe, expect, it } from "vitest";
import {
  declared,
  leased,
  obligationMade,
  obligationSettled,
  runContinued,
} from "./support/events.js";
import { Scenario } from "./support/scenario.js";

const words: Readonly<Record<number, string>> = {
  [RecordKind.OPERATION]: "OPERATION",
  [RecordKind.ORDER]: "ORDER",
};
const owed = (name: string) => obligationMade(1, { name });

describe("what is recorded of a task besides its steps", () => {
  const told = ({ state }: Scenario): string[] =>
    recordedNames(state, 0).map(({ kind, name }) => `${words[kind] ?? kind} ${name}`);

  it("has what its code declared since it was asked for last", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1));
    expect(told(scenario)).toEqual([]);
    scenario.given(owed("tell"));
    expect(told(scenario)).toEqual(["ORDER tell"]);
    scenario.given(declared({ name: "pay" }), owed("greet"));
    expect(told(scenario)).toEqual(["OPERATION pay", "ORDER tell", "ORDER greet"]);
  });

  it("has nothing of an earlier incarnation, whether that was asked about or not", () => {
    for (const isAsked of [true, false]) {
      const scenario = Scenario.ofOne().given(leased(0, 1), owed("tell"), obligationSettled());
      if (isAsked) expect(told(scenario)).toEqual(["ORDER tell"]);
      scenario.given(runContinued(2, 1), leased(0, 2, { attempt: 1 }));
      expect(told(scenario)).toEqual([]);
      scenario.given(obligationMade(2, { name: "greet" }));
      expect(told(scenario)).toEqual(["ORDER greet"]);
    }
  });
});
