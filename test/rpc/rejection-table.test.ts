import { readdirSync, readFileSync } from "node:fs";
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema, RetryInfoSchema } from "@pawl/proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "@pawl/proto/google/rpc/status_pb.js";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { fingerprintConflict, invalidField, type Rejection } from "@pawl/server/core/rejection.js";
import { connectError } from "@pawl/server/rpc/connect/connect-error.js";
import { cutText } from "@pawl/server/rpc/rejection-shape.js";
import { codeByReason, encodeStatus } from "@pawl/server/rpc/rejection-status.js";
import { describe, expect, test } from "vitest";

const errorsFolder = new URL("../../docs/errors/", import.meta.url);
const unionFile = new URL("../../server/src/core/rejection.ts", import.meta.url);

/** Codes as the comments of the protos promise them, by hand. */
const promised: Readonly<Record<string, string>> = {
  PAWL_UNAUTHENTICATED: "UNAUTHENTICATED",
  PAWL_PERMISSION_DENIED: "PERMISSION_DENIED",
  PAWL_INVALID_FIELD: "INVALID_ARGUMENT",
  PAWL_TOO_LARGE: "INVALID_ARGUMENT",
  PAWL_INVALID_POSITION: "INVALID_ARGUMENT",
  PAWL_INVALID_PAGE_TOKEN: "INVALID_ARGUMENT",
  PAWL_NAMESPACE_NOT_FOUND: "NOT_FOUND",
  PAWL_RUN_NOT_FOUND: "NOT_FOUND",
  PAWL_TASK_NOT_FOUND: "NOT_FOUND",
  PAWL_OPERATION_NOT_FOUND: "NOT_FOUND",
  PAWL_REVIEW_NOT_FOUND: "NOT_FOUND",
  PAWL_BLOB_NOT_FOUND: "NOT_FOUND",
  PAWL_INPUT_NOT_FOUND: "NOT_FOUND",
  PAWL_UPDATE_NOT_FOUND: "NOT_FOUND",
  PAWL_QUERY_NOT_FOUND: "NOT_FOUND",
  PAWL_PLAN_NOT_FOUND: "NOT_FOUND",
  PAWL_ANSWER_REFUSED: "INVALID_ARGUMENT",
  PAWL_CREDENTIAL_IN_PAYLOAD: "INVALID_ARGUMENT",
  PAWL_PROPOSAL_NOT_FOUND: "NOT_FOUND",
  PAWL_RUN_EXISTS: "ALREADY_EXISTS",
  PAWL_NO_CURRENT_VERSION: "FAILED_PRECONDITION",
  PAWL_FINGERPRINT_CONFLICT: "ALREADY_EXISTS",
  PAWL_STALE_VERSION: "FAILED_PRECONDITION",
  PAWL_STALE_INTENT: "FAILED_PRECONDITION",
  PAWL_PROPOSAL_CLOSED: "FAILED_PRECONDITION",
  PAWL_NOT_ENTITLED: "PERMISSION_DENIED",
  PAWL_LEASE_LOST: "FAILED_PRECONDITION",
  PAWL_RUN_OVER: "FAILED_PRECONDITION",
  PAWL_ILLEGAL_TRANSITION: "FAILED_PRECONDITION",
  PAWL_OPERATIONS_UNSETTLED: "FAILED_PRECONDITION",
  PAWL_RUN_DELETED: "NOT_FOUND",
  PAWL_OPERATION_DELETED: "NOT_FOUND",
  PAWL_LEGAL_HOLD: "FAILED_PRECONDITION",
  PAWL_RUN_NEEDED: "FAILED_PRECONDITION",
  PAWL_PREDECESSOR_UNSETTLED: "FAILED_PRECONDITION",
  PAWL_PROPOSALS_OPEN: "FAILED_PRECONDITION",
  PAWL_ROLLBACKS_RECORDED: "FAILED_PRECONDITION",
  PAWL_ROLLED_BACK: "FAILED_PRECONDITION",
  PAWL_TOO_EARLY: "FAILED_PRECONDITION",
  PAWL_OVERLOADED: "RESOURCE_EXHAUSTED",
  PAWL_DISK_LOW: "RESOURCE_EXHAUSTED",
  PAWL_WATCHER_TOO_SLOW: "RESOURCE_EXHAUSTED",
  PAWL_POSITION_TRIMMED: "OUT_OF_RANGE",
  PAWL_STORE_REWOUND: "ABORTED",
  PAWL_STORE_DAMAGED: "DATA_LOSS",
  PAWL_DATA_LOSS: "DATA_LOSS",
  PAWL_READ_ONLY: "UNAVAILABLE",
  PAWL_UNAVAILABLE: "UNAVAILABLE",
  PAWL_INTERNAL: "INTERNAL",
};

/** Numbers of the gRPC codes (https://grpc.io/docs/guides/status-codes/). */
const numbers: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
};

describe("the table of reasons", () => {
  test("has the reasons of the core's union, each with the promised code", () => {
    const source = readFileSync(unionFile, "utf8");
    const [union = ""] = /export type RejectionReason =[^;]+;/.exec(source) ?? [];
    const inUnion = [...union.matchAll(/"(PAWL_[A-Z_]+)"/g)].map(([, reason]) => reason).sort();
    expect(inUnion.length).toBeGreaterThan(20);
    expect(Object.keys(codeByReason).sort()).toEqual(inUnion);
    const byHand = Object.entries(promised).map(([reason, code]) => [reason, numbers[code]]);
    expect(codeByReason).toEqual(Object.fromEntries(byHand));
  });

  test("has a page for each reason, which names its code and what to do next", () => {
    const pages = readdirSync(errorsFolder).filter((name) => name !== "README.md");
    expect(pages.sort()).toEqual(
      Object.keys(promised)
        .map((reason) => `${reason}.md`)
        .sort(),
    );
    const index = readFileSync(new URL("README.md", errorsFolder), "utf8");
    for (const [reason, code] of Object.entries(promised)) {
      const page = readFileSync(new URL(`${reason}.md`, errorsFolder), "utf8");
      expect(page).toContain(`# ${reason}\n`);
      expect(page).toContain(`Status code: \`${code}\``);
      expect(page).toMatch(/## Cause\n\n\S/);
      expect(page).toMatch(/## What to do next\n\n\S/);
      // Columns are padded as the formatter likes.
      const row = index.split("\n").find((line) => line.includes(`(${reason}.md)`)) ?? "";
      expect(row.split("|").map((cell) => cell.trim())).toEqual([
        ...["", `[\`${reason}\`](${reason}.md)`, `\`${code}\``],
        ...[expect.stringMatching(/^\S.*\.$/), ""],
      ]);
    }
  });
});

describe("details of an error", () => {
  const overloaded: Rejection = {
    reason: "PAWL_OVERLOADED",
    message: "Expected room, but there is none. Send it again.",
    detail: { case: "overloaded", value: { resource: "inbox", bound: "8 MiB" } },
    retryAfterMs: 1500,
  };

  test("carry reason, domain, the rejection and the delay", () => {
    const status = fromBinary(StatusSchema, encodeStatus(overloaded));
    expect(status.code).toBe(8);
    const [info, rejection, retry] = status.details;
    expect(info && anyUnpack(info, ErrorInfoSchema)).toMatchObject({
      reason: "PAWL_OVERLOADED",
      domain: "pawl",
    });
    expect(rejection && anyUnpack(rejection, RejectionSchema)).toMatchObject({
      reason: "PAWL_OVERLOADED",
      detail: { case: "overloaded", value: { resource: "inbox", bound: "8 MiB" } },
    });
    expect(retry && anyUnpack(retry, RetryInfoSchema)?.retryDelay).toMatchObject({
      seconds: 1n,
      nanos: 500_000_000,
    });
  });

  test("have no delay when the same request must not be sent again", () => {
    const status = fromBinary(StatusSchema, encodeStatus(invalidField("a", "b", "c")));
    expect(status.details.map(({ typeUrl }) => typeUrl)).toEqual([
      "type.googleapis.com/google.rpc.ErrorInfo",
      "type.googleapis.com/pawl.v1.Rejection",
    ]);
  });

  test("are the same in Connect", () => {
    const error = connectError(overloaded);
    expect(error.code).toBe(8);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "PAWL_OVERLOADED" }]);
    expect(error.findDetails(RejectionSchema)).toHaveLength(1);
    expect(error.findDetails(RetryInfoSchema)).toHaveLength(1);
  });

  test("stay small enough for headers, whatever is quoted in them", () => {
    const id = "\u{1F527}".repeat(100_000);
    const conflict = fingerprintConflict({
      entity: "step",
      id,
      recorded: new Uint8Array(32),
      received: new Uint8Array(32),
      differs: "value",
    });
    expect(encodeStatus(conflict).length).toBeLessThan(6_000);
    expect(encodeStatus(invalidField(id, id, id)).length).toBeLessThan(10_000);
  });

  test("never hold half of a surrogate pair", () => {
    expect(cutText("a\ud800b")).toBe("a\ufffdb");
    expect(cutText(`${"x".repeat(8)}\u{1F527}`, 10)).toBe(`${"x".repeat(8)}\u{1F527}`);
    expect(cutText(`${"x".repeat(9)}\u{1F527}`, 10)).toBe(`${"x".repeat(9)}…`);
    expect(cutText(`${"x".repeat(8)}\u{1F527}y`, 10)).toBe(`${"x".repeat(8)}…`);
  });
});
