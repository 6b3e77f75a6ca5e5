import type { SubmitRequestShape } from "@pawl/proto/v1/run_service_wire.js";
import type { Rejection } from "../../core/rejection.js";
import type { StreamAccess } from "../access/stream-access.js";
import { admit, admitFirst, isLarge } from "../admission.js";
import { startCommand } from "../commands/start-run.js";
import type { Edge } from "../edge.js";
import { readNamespace } from "../validate/fields.js";
import { signalOrder, targetOf } from "./submit-orders.js";

/** Large content as it is recorded, or why it cannot be; undefined for what is recorded as it came. */
export type Admitted = Uint8Array | Rejection | undefined;

/** Large contents of a message, by the places of their items. */
export interface SubmitPreparations {
  readonly inputs: readonly Admitted[];
  readonly payloads: readonly Admitted[];
}

/** What preparing needs of the stream. */
export interface SubmitPreparationParts {
  readonly edge: Edge;
  readonly access: StreamAccess;
  readonly toRejection: (error: unknown) => Rejection;
}

/** True when content must be stored before the events that name it. Usually none must. */
export function needsPreparation({ starts, signals }: SubmitRequestShape): boolean {
  return (
    starts.some(({ input }) => isLarge(input)) || signals.some(({ payload }) => isLarge(payload))
  );
}

/**
 * Stores the large contents of a message durably.
 *
 * @param refused items that are refused already: nothing of theirs is stored.
 */
export async function prepareSubmit(
  { edge, access, toRejection }: SubmitPreparationParts,
  { namespace: field, starts, signals }: SubmitRequestShape,
  refused: ReadonlyMap<object, Rejection>,
): Promise<SubmitPreparations> {
  /** What is bad, or may not be sent, is not stored either. */
  const guarded = async (
    item: object,
    store: (namespace: string) => Promise<Admitted>,
  ): Promise<Admitted> => {
    const refusal = refused.get(item);
    if (refusal !== undefined) {
      return refusal;
    }
    try {
      access.callerIn(field);
      return await store(readNamespace(field));
    } catch (error) {
      return toRejection(error);
    }
  };
  const inputs = starts.map((item) =>
    guarded(item, (namespace) => {
      startCommand(item, namespace, edge.plans);
      return admitFirst(edge, targetOf(namespace, item.runId), item.input, "input");
    }),
  );
  const payloads = signals.map((item) =>
    guarded(item, (namespace) => {
      const { target } = signalOrder(item, namespace);
      return admit(edge, target, item.payload, "payload");
    }),
  );
  return { inputs: await Promise.all(inputs), payloads: await Promise.all(payloads) };
}
