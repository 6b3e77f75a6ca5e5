import { createHmac } from "node:crypto";
import { Hmac } from "@pawl/server/log/hmac.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("HMAC-SHA-256", () => {
  test.each([
    // RFC 4231, test cases 1 and 2.
    [
      Buffer.alloc(20, 0x0b),
      "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    ],
    [
      Buffer.from("Jefe"),
      "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ],
  ])("gives the published values", (key, message, expected) => {
    expect(hex(new Hmac(key).sign(Buffer.from(message)))).toBe(expected);
  });

  test("is that of Node for every key of a block at most, and every message", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 64 }),
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 3 }),
        (key, messages) => {
          const hmac = new Hmac(key);
          for (const message of messages) {
            expect(hex(hmac.sign(message))).toBe(
              createHmac("sha256", key).update(message).digest("hex"),
            );
          }
        },
      ),
    );
  });

  test("takes no key that is absent or longer than a block", () => {
    expect(() => new Hmac(new Uint8Array(0))).toThrow("1 to 64 bytes");
    expect(() => new Hmac(new Uint8Array(65))).toThrow("1 to 64 bytes");
  });
});
