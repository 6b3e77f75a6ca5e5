import type { Caller } from "../core/caller.js";
import { limits } from "../core/limits.js";
import { invalidField, type Rejection } from "../core/rejection.js";
import type { DurableAnswers } from "./durable-answers.js";
import type { KernelParts } from "./kernel-parts.js";
import type { NamespaceEntry, Namespaces } from "./namespaces.js";
import { RejectionError } from "./outcome.js";

/** See `KernelApi.createNamespace`. */
export async function createNamespace(
  parts: Pick<KernelParts, "loop" | "namespaces" | "storeRun" | "disk">,
  answers: DurableAnswers,
  name: string,
  caller: Caller,
): Promise<{ existing: boolean; entry: NamespaceEntry; position: Uint8Array }> {
  answers.requireWorking();
  const { loop, namespaces, storeRun, disk } = parts;
  const found = namespaces.get(name);
  const refusal =
    found === undefined ? (loop.held ?? disk.refuseNew() ?? refuseMore(namespaces)) : undefined;
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
  const { principal } = caller;
  const entry = found ?? {
    namespace: name,
    principal,
    createdAtMs: loop.appendEvents(storeRun, [
      { case: "namespaceCreated", value: { namespace: name, principal } },
    ]),
  };
  namespaces.add(entry);
  return { existing: found !== undefined, entry, position: await answers.positionWhenDurable() };
}

function refuseMore({ size }: Namespaces): Rejection | undefined {
  const { namespacesMax } = limits;
  return size < namespacesMax
    ? undefined
    : invalidField("name", `one of at most ${namespacesMax} namespaces`, `one more`);
}
