import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { Obligation } from "./state.js";

/** True for the start of a child that the receiver's side has refused. */
export function isUnstarted({
  declaration,
  status,
}: Pick<Obligation, "declaration" | "status">): boolean {
  return (
    declaration.order.case === "child" &&
    status !== ObligationStatus.OPEN &&
    status !== ObligationStatus.DELIVERED
  );
}
