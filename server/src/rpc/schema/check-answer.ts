import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { type CallContext, CallerGone } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { dataOf, scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import type { SchemaAsker, SchemaFinding } from "./schema-checker.js";
import type { SchemaJob, SchemaReply } from "./schema-worker.js";

/** What a check is made with. */
export interface SchemaParts {
  readonly edge: Edge;
  readonly asker: SchemaAsker;
}

/** The asker of a call. */
export function askerOf(namespace: string, call: CallContext): SchemaAsker {
  return { namespace, isGone: () => call.signal.reason instanceof CallerGone };
}

/**
 * Checks the schema of an input request when it is asked. Nothing to do without one.
 *
 * @throws RejectionError (as a rejection) PAWL_INVALID_FIELD, saying what is wrong with it; PAWL_OVERLOADED when that was not found out.
 */
export async function requireSchema(
  parts: SchemaParts,
  schema: string,
  field: string,
): Promise<void> {
  if (schema === "") {
    return;
  }
  const reply = await check(parts, { schema });
  if (reply.case !== "fits") {
    throw badField(field, "a JSON Schema (draft 2020-12)", shorten(reply.why));
  }
}

/**
 * Checks an answer with the schema of its request.
 *
 * @throws RejectionError (as a rejection) PAWL_ANSWER_REFUSED, saying what does not fit; PAWL_OVERLOADED when that was not found out.
 */
export async function requireAnswer(
  parts: SchemaParts,
  schema: string,
  answer: Uint8Array,
): Promise<void> {
  const scan = scanPayload(answer, "given");
  if (schema === "") {
    return;
  }
  if (!scan.isJson) {
    throw new RejectionError(refused("its content type is not JSON, or it is encoded"));
  }
  if (scan.dataBytes > limits.checkedAnswerBytesMax) {
    throw new RejectionError(
      refused(`it has ${scan.dataBytes} bytes of at most ${limits.checkedAnswerBytesMax}`),
    );
  }
  const document = Buffer.from(dataOf(answer, scan)).toString("utf8");
  const reply = await check(parts, { schema, document });
  if (reply.case !== "fits") {
    throw new RejectionError(refused(shorten(reply.why)));
  }
}

async function check({ edge, asker }: SchemaParts, job: SchemaJob): Promise<SchemaReply> {
  const finding = await edge.schemas.check(job, asker);
  if (finding.case === "unchecked") {
    throw new RejectionError(unchecked(finding));
  }
  return finding;
}

function unchecked({ bound }: Extract<SchemaFinding, { case: "unchecked" }>): Rejection {
  return {
    reason: "PAWL_OVERLOADED",
    message: `Expected to check the schema within ${bound}, but it took more. Next: send it again later; if it stays so, make the schema simpler.`,
    detail: { case: "overloaded", value: { resource: "schemas", bound } },
    retryAfterMs: 1000,
  };
}

function refused(why: string): Rejection {
  return {
    reason: "PAWL_ANSWER_REFUSED",
    message: `Expected an answer that meets the schema of its request, but ${why}. Next: correct it and send it again.`,
    detail: {
      case: "invalidField",
      value: { field: "given", expected: "what the schema says", actual: why },
    },
  };
}

/** Most of an explanation that is told, in UTF-16 code units. */
const whyMax = 500;

function shorten(why: string): string {
  return why.length <= whyMax ? why : `${why.slice(0, whyMax).replace(/[\ud800-\udbff]$/, "")}…`;
}
