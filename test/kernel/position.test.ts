import { RejectionError } from "@pawl/server/kernel/outcome.js";
import { PositionCodec, type PositionCodecParts } from "@pawl/server/kernel/position.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { testSecret, testStoreId } from "../support/kernel.js";

const ours: PositionCodecParts = {
  storeId: testStoreId,
  epoch: 3,
  partition: 0,
  secret: testSecret,
  keptThrough: (epoch) => (epoch < 3 ? 40 : undefined),
};

const codec = new PositionCodec(ours);
const some = { sequence: 2 ** 40 + 7, hash: new Uint8Array(32).fill(0xab) };

function refusal(bytes: Uint8Array, by: PositionCodec = codec): RejectionError | undefined {
  try {
    by.decode(bytes);
    return undefined;
  } catch (error) {
    if (error instanceof RejectionError) {
      return error;
    }
    throw error;
  }
}

describe("a position", () => {
  test("comes back as it was given", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 2 ** 31 - 1 }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (sequence, hash) => {
          const given = codec.encode({ sequence, hash });
          const taken = new PositionCodec(ours).decode(given);
          expect(taken).toEqual({ sequence, hash });
        },
      ),
    );
    expect(codec.decode(codec.encode(some))).toEqual(some);
  });

  test("with one bit turned is none, whichever bit", () => {
    const given = codec.encode(some);
    expect(given.length).toBe(79);
    for (let bit = 0; bit < given.length * 8; bit++) {
      const turned = Uint8Array.from(given);
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(refusal(turned)?.code, `bit ${bit}`).toBe("PAWL_INVALID_POSITION");
    }
  });

  test("cut, lengthened or made up is none", () => {
    const given = codec.encode(some);
    const others = [given.subarray(1), given.subarray(0, 78), Buffer.concat([given, given])];
    for (const other of [...others, new Uint8Array(79), new Uint8Array(0)]) {
      expect(refusal(other)?.code).toBe("PAWL_INVALID_POSITION");
    }
  });

  test.each([
    ["another store", { storeId: "5f0c5a4e-3d1b-4c55-9d0a-6c1f0e8d2b72" }],
    ["another secret", { secret: new Uint8Array(32).fill(8) }],
    ["another partition", { partition: 1 }],
  ])("of %s is none of ours", (_what, other) => {
    const theirs = new PositionCodec({ ...ours, ...other });
    expect(refusal(theirs.encode(some))?.code).toBe("PAWL_INVALID_POSITION");
  });

  test("of an earlier epoch is told that the store was rewound, and what stands", () => {
    const earlier = new PositionCodec({ ...ours, epoch: 2 });
    const refused = refusal(earlier.encode(some));
    expect(refused?.code).toBe("PAWL_STORE_REWOUND");
    expect(refused?.rejection.detail).toEqual({
      case: "storeRewound",
      value: { positionEpoch: 2, storeEpoch: 3, keptSequence: 40n },
    });
    expect(refused?.message).toContain("up to sequence 40 stands");
  });

  test("of a later epoch shows an older copy, of which nothing is known", () => {
    const later = new PositionCodec({ ...ours, epoch: 4 });
    const refused = refusal(later.encode(some));
    expect(refused?.code).toBe("PAWL_STORE_REWOUND");
    expect(refused?.message).toContain("Nothing is known of what it kept");
  });
});
