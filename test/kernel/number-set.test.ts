import { NumberSet } from "@pawl/server/kernel/number-set.js";
import fc from "fast-check";
import { expect, test } from "vitest";

const numbers = fc.oneof(
  fc.nat(100),
  fc.nat(70_000),
  fc.integer({ min: 2 ** 40, max: 2 ** 40 + 90_000 }),
);

test("a set of numbers has what was added, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(numbers), fc.array(numbers), (added, asked) => {
      const set = new NumberSet();
      for (const number of added) {
        set.add(number);
      }
      const model = new Set(added);
      for (const number of [...added, ...asked]) {
        expect(set.has(number)).toBe(model.has(number));
      }
    }),
  );
});
