import { toBinary } from "@bufbuild/protobuf";
import { FailureOrigin, FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { Fatal, RetryAfter } from "@pawl/sdk";
import { fromFailure, toFailure } from "@pawl/sdk/internal/failure.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { textOf } from "./support/payloads.js";

/** The kernel's bound on an encoded failure. */
const FAILURE_BYTES_MAX = 16_384;

test("keeps kind, code, message, data, stack and the chain of causes", () => {
  const thrown = Object.assign(new RangeError("outer", { cause: new Error("inner") }), {
    code: "E_RANGE",
    data: { at: 3 },
  });
  const { failure } = toFailure(thrown);
  expect(failure).toMatchObject({
    kind: "RangeError",
    code: "E_RANGE",
    message: "outer",
    retryable: true,
  });
  expect(failure.origin).toBe(FailureOrigin.HANDLER);
  expect(failure.stack).toContain("failures.test.ts");
  expect(textOf(failure.data)).toBe('{"at":3}');
  expect(failure.cause).toMatchObject({ kind: "Error", message: "inner" });
});

test("Fatal is final, RetryAfter says when", () => {
  expect(toFailure(new Fatal("no", { data: { why: "x" } })).failure).toMatchObject({
    kind: "Fatal",
    retryable: false,
  });
  expect(toFailure(new RetryAfter("2s")).retryAfterMs).toBe(2_000);
  // Only the outermost decides: a wrapper may know better.
  expect(toFailure(new Error("wrapped", { cause: new Fatal("no") })).failure.retryable).toBe(true);
});

test.each<[unknown, string, string]>([
  ["a text", "Thrown(string)", "a text"],
  [undefined, "Thrown(undefined)", "undefined"],
  [null, "null", "null"],
  [{ status: 3 }, "ThrownObject", '{"status":3}'],
  [7n, "Thrown(bigint)", "7"],
])("%o becomes a failure too", (thrown, kind, message) => {
  expect(toFailure(thrown).failure).toMatchObject({ kind, message });
});

test("an object whose getters throw becomes a failure too", () => {
  const hostile = {
    get message(): string {
      throw new Error("no");
    },
    toJSON(): never {
      throw new Error("no");
    },
  };
  expect(toFailure(hostile).failure.message).toContain("cannot be shown");
});

test("what cannot even be asked what it is becomes a failure too", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(toFailure(proxy).failure.message).toContain("cannot be looked at");
});

test("half surrogate pairs are repaired visibly, and long texts cut visibly", () => {
  expect(toFailure(new Error("a\ud83d")).failure.message).toBe("a\ufffd");
  expect(toFailure(new Error("é".repeat(10_000))).failure.message).toMatch(
    /^é+… \[\d+ bytes cut\]$/,
  );
});

test("whatever is thrown stays within the kernel's bound and 8 causes", () => {
  const text = fc.string({ unit: "binary", maxLength: 20_000 });
  const errors = fc.array(
    fc.record({ message: text, name: text, code: text, stack: text, data: fc.jsonValue() }),
    {
      minLength: 1,
      maxLength: 20,
    },
  );
  fc.assert(
    fc.property(errors, (chain) => {
      const thrown = chain.reduceRight<Error | undefined>(
        (cause, parts) =>
          Object.assign(new Error("x", cause === undefined ? {} : { cause }), parts),
        undefined,
      );
      const { failure } = toFailure(thrown);
      expect(toBinary(FailureSchema, failure).length).toBeLessThanOrEqual(FAILURE_BYTES_MAX);
      let depth = 0;
      for (let next: typeof failure | undefined = failure; next !== undefined; next = next.cause)
        depth++;
      expect(depth).toBe(Math.min(chain.length, 8));
    }),
    { numRuns: 50 },
  );
});

test("a cycle of causes ends", () => {
  const error = new Error("round");
  error.cause = error;
  let depth = 0;
  for (
    let next: unknown = fromFailure(toFailure(error).failure);
    next instanceof Error;
    next = next.cause
  )
    depth++;
  expect(depth).toBe(8);
});

test("a recorded failure comes back with its chain and data", () => {
  const { failure } = toFailure(new Fatal("outer", { cause: new TypeError("inner"), data: [1] }));
  expect(fromFailure(failure)).toMatchObject({
    name: "RecordedFailure",
    kind: "Fatal",
    message: "outer",
    data: [1],
    retryable: false,
    cause: { kind: "TypeError", message: "inner" },
  });
});
