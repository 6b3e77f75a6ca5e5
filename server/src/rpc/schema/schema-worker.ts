import { parentPort } from "node:worker_threads";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

/** A schema to compile, and perhaps a document to check with it. */
export interface SchemaJob {
  readonly schema: string;
  /** The document, as JSON text; absent: only the schema is looked at. */
  readonly document?: string | undefined;
}

/** What was found. */
export type SchemaReply =
  | { readonly case: "fits" }
  | { readonly case: "badSchema"; readonly why: string }
  | { readonly case: "badDocument"; readonly why: string };

/** What the thread says: that it takes jobs now; then one reply to each. */
export type SchemaWorkerMessage = SchemaReply | { readonly case: "ready" };

/** Compiled schemas that are kept; beyond it the oldest goes. */
const compiledMax = 256;

const compiled = new Map<string, ValidateFunction>();
/**
 * One for each schema: a schema may name itself as it likes, also as another one or as the specification's own, and must not be found by others.
 * Unknown keywords and formats are annotations, as the specification says; nothing is ever fetched.
 */
function newAjv(): Ajv2020 {
  return new Ajv2020({
    strict: false,
    validateFormats: false,
    logger: false,
    addUsedSchema: false,
  });
}

const texts: Ajv2020 = newAjv();

parentPort?.on("message", (job: SchemaJob) => parentPort?.postMessage(check(job)));
// Loading all this takes time that no check is to pay for.
parentPort?.postMessage({ case: "ready" } satisfies SchemaWorkerMessage);

/** Checks a document with a schema. */
export function check({ schema, document }: SchemaJob): SchemaReply {
  let validate: ValidateFunction;
  try {
    validate = compile(schema);
  } catch (error) {
    return { case: "badSchema", why: textOf(error) };
  }
  if (document === undefined) {
    return { case: "fits" };
  }
  let value: unknown;
  try {
    value = JSON.parse(document);
  } catch (error) {
    return { case: "badDocument", why: `it is not JSON: ${textOf(error)}` };
  }
  return validate(value) === true
    ? { case: "fits" }
    : { case: "badDocument", why: texts.errorsText(validate.errors, { dataVar: "answer" }) };
}

function compile(schema: string): ValidateFunction {
  const known = compiled.get(schema);
  if (known !== undefined) {
    return known;
  }
  const parsed: unknown = JSON.parse(schema);
  if (typeof parsed !== "boolean" && (typeof parsed !== "object" || parsed === null)) {
    throw new TypeError("a schema is an object or a boolean");
  }
  const validate = newAjv().compile(parsed);
  if ("$async" in validate) {
    throw new TypeError("an asynchronous schema cannot be checked here");
  }
  const [oldest] = compiled.keys();
  if (compiled.size >= compiledMax && oldest !== undefined) {
    compiled.delete(oldest);
  }
  compiled.set(schema, validate);
  return validate;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
