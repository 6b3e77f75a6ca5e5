import { limits } from "../limits.js";
import { toHex } from "./hex.js";
import { escapeField } from "./operation-key.js";
import type { Sha256 } from "./sha256.js";
import { encodeUtf8 } from "./utf8.js";

/** What identifies a child run. */
export interface ChildIdentity {
  /** Id of the parent. */
  readonly runId: string;
  /** Which execution of the parent. */
  readonly incarnation: number;
  /** Task whose code starts it. */
  readonly task: string;
  /** Plan version in which the task's present specification first appeared: another specification starts other children. */
  readonly planVersion: number;
  readonly name: string;
  readonly key: string | undefined;
}

/** Bytes of the SHA-256 that close an id which was cut. */
const cutHashBytes = 16;

/**
 * The id of a child run, which follows from its identity alone: `PARENT/INCARNATION/TASK/NAME[/KEY]`, each part percent-escaped; from plan version 2 on `TASK@VERSION`. Above 200
 * characters it is cut (never inside a percent triple), and closed with `:` and 128 bits of the whole one's SHA-256.
 */
export function childRunId(
  { runId, incarnation, task, planVersion, name, key }: ChildIdentity,
  sha256: Sha256,
): string {
  const at = planVersion === 1 ? "" : `@${planVersion}`; // No escaped name holds an @.
  const parts = [escapeField("run_id", runId), `${incarnation}`, escapeField("task", task) + at];
  parts.push(escapeField("name", name));
  if (key !== undefined) {
    parts.push(escapeField("key", key));
  }
  const whole = parts.join("/");
  if (whole.length <= limits.idBytesMax) {
    return whole;
  }
  const closing = `:${toHex(sha256(encodeUtf8(whole)), cutHashBytes)}`;
  const beginning = whole.slice(0, limits.idBytesMax - closing.length);
  return beginning.replace(/%[0-9A-F]?$/, "") + closing;
}
