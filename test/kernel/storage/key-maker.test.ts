import { KeyMaker } from "@pawl/server/kernel/storage/key-maker.js";
import { chunkKey, nameKey, runKey, taskKey, visibilityKey } from "@pawl/server/log/key.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const text = fc.string({ unit: "binary", maxLength: 30 });
const number = fc.maxSafeNat();
const small = fc.nat({ max: 0xffff_ffff });

describe("keys made from kept beginnings", () => {
  it("are the bytes that the codecs make", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 0xffff }),
        fc.array(fc.tuple(text, text, text, number, small), { minLength: 1, maxLength: 5 }),
        (partition, keys) => {
          const maker = new KeyMaker(partition);
          // Twice: the second time from what was kept.
          for (const [namespace, field, value, runNumber, part] of [...keys, ...keys]) {
            const listed = { namespace, field, value };
            const at = { partition, runNumber, number: part };
            expect(maker.visibility(listed, runNumber, part)).toEqual(
              visibilityKey.encode({ ...listed, ...at }),
            );
            expect(maker.name(namespace, value)).toEqual(
              nameKey.encode({ partition, namespace, runId: value }),
            );
            expect(maker.run(runNumber)).toEqual(runKey.encode({ partition, runNumber }));
            expect(maker.inRun(taskKey.kind, runNumber, part)).toEqual(taskKey.encode(at));
            expect(maker.chunk(runNumber, part)).toEqual(
              chunkKey.encode({ partition, runNumber, chunkNumber: part }),
            );
          }
        },
      ),
    );
  });
});
