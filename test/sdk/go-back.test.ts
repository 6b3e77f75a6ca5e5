import { RewindMessages } from "@pawl/proto/v1/rewind_pb.js";
import { DefinitionInvalid } from "@pawl/sdk";
import { rewindRequest } from "@pawl/sdk/internal/go-back.js";
import { expect, test } from "vitest";

const run = { namespace: "default", runId: "r" };
const to = { event: 3 };

test.each([
  ["effects", "redo"],
  ["messages", "forget"],
  ["messages", ""],
])("a rewind whose %s is %j, as only untyped code can say, is refused", (option, word) => {
  const options = Object.assign({ to }, { [option]: word });
  expect(() => rewindRequest(run, options)).toThrow(DefinitionInvalid);
  expect(() => rewindRequest(run, options)).toThrow(`Expected ${option} of a rewind to be `);
});

test("messages are kept unless they are to be dropped", () => {
  expect(rewindRequest(run, { to }).messages).toBe(RewindMessages.KEEP);
  expect(rewindRequest(run, { to, messages: "keep" }).messages).toBe(RewindMessages.KEEP);
  expect(rewindRequest(run, { to, messages: "drop" }).messages).toBe(RewindMessages.DROP);
});
