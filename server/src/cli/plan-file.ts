import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { type Plan, PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { usageError } from "./cli-error.js";
import type { CliContext } from "./context.js";
import { type Exports, loadUserModule } from "./user-module.js";

const JSON_TYPE = "application/json";

/** JSON as a member of an object. */
type Member = JsonValue | undefined;

/** How a plan is shown to be edited: protobuf's JSON form, in which the content of JSON inputs stands as it is, as `json` instead of `data`. */
export function editablePlan(plan: Plan): JsonValue {
  return mapInputs(toJson(PlanSchema, plan), ({ data, ...rest }) => {
    if (typeof data !== "string" || rest["contentType"] !== JSON_TYPE) return { ...rest, data };
    try {
      return { ...rest, json: JSON.parse(Buffer.from(data, "base64").toString("utf8")) };
    } catch {
      return { ...rest, data };
    }
  });
}

/**
 * The plan in a file: protobuf's JSON form of `pawl.v1.Plan`, in which an input may also say `json`, as `pawl plan show --edit` prints it; or a JavaScript
 * module that exports one plan of the SDK.
 */
export async function readPlanFile(
  context: CliContext,
  given: string,
  option: string,
): Promise<Plan> {
  const path = resolve(context.cwd, given);
  if (/\.[cm]?js$/.test(path)) return planOfModule(given, await loadUserModule(path));
  const text = await readText(path, option);
  try {
    const parsed: JsonValue = JSON.parse(text);
    return fromJson(
      PlanSchema,
      mapInputs(parsed, ({ json, ...rest }) => withJson(rest, json)),
    );
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    throw usageError(`Expected ${given} to hold a plan in protobuf's JSON form, but ${found}.`, [
      'The least plan is {"tasks":[{"name":"main","kind":"KIND"}],"output":"main"}.',
    ]);
  }
}

/** Reads a text file. */
export async function readText(path: string, option: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    throw usageError(`Expected the file of ${option} to be readable, but ${found}.`);
  }
}

type Fields = Readonly<Record<string, Member>>;

function withJson(rest: Fields, json: Member): Fields {
  if (json === undefined) return rest;
  const data = Buffer.from(JSON.stringify(json)).toString("base64");
  return { contentType: JSON_TYPE, ...rest, data };
}

/** The same plan with each task's input changed. */
function mapInputs(plan: JsonValue, change: (input: Fields) => Fields): JsonValue {
  if (!isObject(plan) || !Array.isArray(plan["tasks"])) return plan;
  const tasks = plan["tasks"].map((task) => {
    if (!isObject(task) || !isObject(task["input"])) return task;
    return dropAbsent({ ...task, input: dropAbsent(change(task["input"])) });
  });
  return { ...plan, tasks };
}

function dropAbsent(fields: Fields): { [name: string]: JsonValue } {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function isObject(value: Member): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A plan of the SDK as another copy of its package may have made it. */
function planOfModule(given: string, exported: Exports): Plan {
  const plans = Object.entries(exported).flatMap(([name, value]) =>
    isPlan(value) ? [{ name, message: value.message }] : [],
  );
  const [only] = plans;
  if (only === undefined || plans.length > 1) {
    const found =
      only === undefined
        ? "it exports none"
        : `it exports ${plans.map(({ name }) => name).join(", ")}`;
    throw usageError(
      `Expected ${given} to export one plan, made by plan() of @pawl/sdk, but ${found}.`,
    );
  }
  return fromBinary(PlanSchema, toBinary(PlanSchema, only.message));
}

function isPlan(value: unknown): value is { readonly message: Plan } {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    value.type === "plan" &&
    "message" in value
  );
}
