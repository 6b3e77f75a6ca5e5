import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder: URL = new URL("../../.set-up/python/", import.meta.url);

/** The interpreter that `examples/python/set-up.py` makes: it has grpcio, and finds the generated client. */
export const python: string = fileURLToPath(new URL("env/bin/python", folder));

/** True once it has been made. */
export function isPythonSetUp(): boolean {
  return existsSync(new URL("env.stamp", folder));
}
