import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { dataOf, scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";

/**
 * Checks the schema of an input request when it is asked. Nothing to do without one.
 *
 * @throws RejectionError (as a rejection) PAWL_INVALID_FIELD, saying what is wrong with it.
 */
export async function requireSchema(edge: Edge, schema: string, field: string): Promise<void> {
  if (schema === "") {
    return;
  }
  const reply = await edge.schemas.check({ schema });
  if (reply.case !== "fits") {
    throw badField(field, "a JSON Schema (draft 2020-12)", shorten(reply.why));
  }
}

/**
 * Checks an answer with the schema of its request.
 *
 * @throws RejectionError (as a rejection) PAWL_ANSWER_REFUSED, saying what does not fit.
 */
export async function requireAnswer(edge: Edge, schema: string, answer: Uint8Array): Promise<void> {
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
  const reply = await edge.schemas.check({ schema, document });
  if (reply.case !== "fits") {
    throw new RejectionError(refused(shorten(reply.why)));
  }
}

function refused(why: string): Rejection {
  return {
    reason: "PAWL_ANSWER_REFUSED",
    message: `Expected an answer that meets the schema of its request, but ${why}. Correct it and send it again.`,
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
