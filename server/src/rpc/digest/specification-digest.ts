import { createHash } from "node:crypto";
import { decodePayload } from "@pawl/proto/v1/payload_wire.js";
import { outputName } from "../../core/plan/compare-plans.js";
import type { CompiledPlan, TaskSpec } from "../../core/plan/task-spec.js";
import { isJsonContentType } from "./content-digest.js";
import type { JsonDigestSource } from "./same-content.js";

/**
 * SHA-256 of what a plan is, besides its policies: of all tasks by name kind, input and needs, and which one's output is the run's. Every part is preceded by its length. JSON inputs go in by
 * their `json` digest, so that spacing and the order of keys make no other plan; the order of tasks and of needs does not either.
 */
export async function specificationDigest(
  plan: CompiledPlan,
  digester: JsonDigestSource,
): Promise<Uint8Array> {
  const hash = createHash("sha256");
  const add = (part: Uint8Array | string): void => {
    const bytes = typeof part === "string" ? Buffer.from(part, "utf8") : part;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  };
  add("pawl.plan.v1");
  add(outputName(plan));
  const byName = [...plan.tasks].sort((one, other) => compare(one.name, other.name));
  for (const spec of byName) {
    add(spec.name);
    add(spec.kind);
    const input = await partsOfInput(spec, digester);
    add(`${input.length}`);
    input.forEach(add);
    const needs = spec.needs.map((need) => plan.tasks[need]?.name ?? "").sort(compare);
    add(`${needs.length}`);
    needs.forEach(add);
  }
  return new Uint8Array(hash.digest());
}

function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one, "utf8"), Buffer.from(other, "utf8"));
}

/** Nothing; or what kind of content it is, and what it says. */
async function partsOfInput(
  { input }: TaskSpec,
  digester: JsonDigestSource,
): Promise<(Uint8Array | string)[]> {
  if (input === undefined) {
    return [];
  }
  const { contentType, encoding, digest, body } = decodePayload(input);
  if (encoding === "" && digest === undefined && isJsonContentType(contentType)) {
    const found = await digester.digestJson(body.case === "data" ? body.value : new Uint8Array(0));
    if (found.ok) {
      return ["json", contentType, found.digest.digest];
    }
  }
  return ["bytes", input];
}
