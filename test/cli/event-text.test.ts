import { describeEvent } from "@pawl/server/cli/format/event.js";
import { expect, it } from "vitest";
import { sampleEvent } from "./support/samples.js";

it("parts what an event says by semicolons, which end sentences too", () => {
  const detail = 'Worker "w-1" got it.';
  expect(describeEvent(sampleEvent({ detail, principal: "local" }))).toBe(
    'task pay; attempt 1; Worker "w-1" got it; asked by local (unauthenticated)',
  );
  expect(describeEvent(sampleEvent({ detail }))).toBe('task pay; attempt 1; Worker "w-1" got it.');
  expect(describeEvent(sampleEvent({ detail: "" }))).toBe("task pay; attempt 1");
});
