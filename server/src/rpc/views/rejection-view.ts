import { create } from "@bufbuild/protobuf";
import {
  type Rejection as RejectionMessage,
  RejectionSchema,
} from "@pawl/proto/v1/rejection_pb.js";
import type { Rejection } from "../../core/rejection.js";
import { rejectionShape } from "../rejection-shape.js";

/** `pawl.v1.Rejection` of a refusal, for the items of a batch. */
export function rejectionMessage(rejection: Rejection): RejectionMessage {
  return create(RejectionSchema, rejectionShape(rejection));
}
