import { readFileSync } from "node:fs";
import { WorkRequestSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { expect, test } from "vitest";

/** Fields of items that the kernel answers: each is a moment at which a worker can die. */
const answered = WorkRequestSchema.fields.filter(
  ({ message }) => message?.fields.some(({ name }) => name === "correlation") === true,
);

test("the kit can crash before and after everything that a worker tells its kernel", () => {
  const source = readFileSync(
    new URL("../../sdk/src/testing/wire-item.ts", import.meta.url),
    "utf8",
  );
  const [, list = ""] = /ITEM_FIELDS = \[([^\]]*)\]/.exec(source) ?? [];
  const split = [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name);
  expect(split.length).toBeGreaterThan(9);
  expect([...split].sort()).toEqual(answered.map(({ localName }) => localName).sort());
  for (const name of split) expect(source).toContain(`...request.${name}.map(`);
});
