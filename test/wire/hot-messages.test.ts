// Goal: what the kernel stores, and what it sends and receives on its hot path, is protobuf. The codecs are generated from the
// contract, so this also fails when generated code was not renewed with it.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { EventSchema } from "@pawl/proto/log/v1/event_pb.js";
import { decodeEvent, encodeEvent } from "@pawl/proto/log/v1/event_wire.js";
import {
  OperationRowSchema,
  ReviewRowSchema,
  RunRowSchema,
  StepRowSchema,
  TaskRowSchema,
} from "@pawl/proto/log/v1/row_pb.js";
import {
  decodeOperationRow,
  decodeReviewRow,
  decodeRunRow,
  decodeStepRow,
  decodeTaskRow,
  encodeOperationRow,
  encodeReviewRow,
  encodeRunRow,
  encodeStepRow,
  encodeTaskRow,
} from "@pawl/proto/log/v1/row_wire.js";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { decodePayload, encodePayload } from "@pawl/proto/v1/payload_wire.js";
import { PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { decodePlan, encodePlan } from "@pawl/proto/v1/plan_wire.js";
import {
  StartAndAwaitRequestSchema,
  StartRunsRequestSchema,
  StartRunsResponseSchema,
  SubmitRequestSchema,
  SubmitResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import {
  decodeStartAndAwaitRequest,
  decodeStartRunsRequest,
  decodeStartRunsResponse,
  decodeSubmitRequest,
  decodeSubmitResponse,
  encodeStartAndAwaitRequest,
  encodeStartRunsRequest,
  encodeStartRunsResponse,
  encodeSubmitRequest,
  encodeSubmitResponse,
} from "@pawl/proto/v1/run_service_wire.js";
import { WorkRequestSchema, WorkResponseSchema } from "@pawl/proto/v1/worker_service_pb.js";
import {
  decodeWorkRequest,
  decodeWorkResponse,
  encodeWorkRequest,
  encodeWorkResponse,
} from "@pawl/proto/v1/worker_service_wire.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codec } from "./codecs.js";
import { messageArbitrary, UNSHRUNK } from "./message-arbitrary.js";
import { toPlain } from "./oracle.js";

const OPAQUE = ["pawl.v1.Payload", "pawl.v1.Plan"];

describe.each([
  codec(EventSchema, decodeEvent, encodeEvent, OPAQUE),
  codec(RunRowSchema, decodeRunRow, encodeRunRow, OPAQUE),
  codec(TaskRowSchema, decodeTaskRow, encodeTaskRow, OPAQUE),
  codec(OperationRowSchema, decodeOperationRow, encodeOperationRow, OPAQUE),
  codec(StepRowSchema, decodeStepRow, encodeStepRow, OPAQUE),
  codec(ReviewRowSchema, decodeReviewRow, encodeReviewRow, OPAQUE),
  codec(PayloadSchema, decodePayload, encodePayload, OPAQUE),
  codec(PlanSchema, decodePlan, encodePlan, OPAQUE),
  codec(SubmitRequestSchema, decodeSubmitRequest, encodeSubmitRequest, OPAQUE),
  codec(SubmitResponseSchema, decodeSubmitResponse, encodeSubmitResponse, OPAQUE),
  codec(StartRunsRequestSchema, decodeStartRunsRequest, encodeStartRunsRequest, OPAQUE),
  codec(StartRunsResponseSchema, decodeStartRunsResponse, encodeStartRunsResponse, OPAQUE),
  codec(StartAndAwaitRequestSchema, decodeStartAndAwaitRequest, encodeStartAndAwaitRequest, OPAQUE),
  codec(WorkRequestSchema, decodeWorkRequest, encodeWorkRequest, OPAQUE),
  codec(WorkResponseSchema, decodeWorkResponse, encodeWorkResponse, OPAQUE),
])("$desc.typeName", ({ desc, seen, decode, recode }) => {
  it("is read as protobuf-es reads it, and written back byte for byte", () => {
    fc.assert(
      fc.property(messageArbitrary(desc), (message) => {
        const bytes = toBinary(desc, message);
        expect(decode(bytes)).toStrictEqual(toPlain(seen, fromBinary(seen, bytes)));
        expect(Buffer.from(recode(bytes)).toString("hex")).toBe(Buffer.from(bytes).toString("hex"));
      }),
      { numRuns: 50, ...UNSHRUNK },
    );
  });
});
