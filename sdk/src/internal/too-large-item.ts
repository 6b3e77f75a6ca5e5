import { create, toBinary } from "@bufbuild/protobuf";
import { type Rejection, RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { WorkRequestSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { MESSAGE_BYTES } from "./send-queue.js";
import { type ItemBody, putItem } from "./work-item.js";

/** Most bytes of one item: the kernel takes 4 MiB in a message, with what goes along. */
const ITEM_BYTES_MAX = 4_100_000;

/**
 * Why an item cannot be sent; undefined when it can. One that no message holds would end the stream, and the next one, with everything that goes over it.
 *
 * @param bytes About how long it is.
 */
export function refuseTooLarge(body: ItemBody, bytes: number): Rejection | undefined {
  if (bytes <= MESSAGE_BYTES) return undefined;
  const request = create(WorkRequestSchema);
  putItem(request, body);
  const size = toBinary(WorkRequestSchema, request).length;
  if (size <= ITEM_BYTES_MAX) return undefined;
  return create(RejectionSchema, {
    reason: "PAWL_TOO_LARGE",
    message: `Expected what a task tells at once to be at most ${ITEM_BYTES_MAX} bytes, but its ${body.kind} has ${size}. Next: wait for fewer things at a time, or send less with each.`,
  });
}
