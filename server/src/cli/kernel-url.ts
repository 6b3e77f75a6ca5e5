import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext } from "./context.js";

/** The data folder that is looked for when none is named. */
export const DEFAULT_FOLDER = ".pawl";

/** Where a kernel listens when nothing else is said. */
export const DEFAULT_HOST = "127.0.0.1";

/** See `DEFAULT_HOST`. */
export const DEFAULT_PORT = 7295;

/** What `kernel.json` in a data folder says: who has the store open, and where it listens. A hint, never a lock. */
export interface KernelHint {
  readonly pid: number;
  readonly host: string;
  /** Absent for an embedded kernel that does not listen. */
  readonly port: number | undefined;
  readonly hasTls: boolean;
}

/** A URL that reaches a kernel on `host` and `port`, also when it listens on all addresses. */
export function kernelUrl(host: string, port: number, hasTls = false): string {
  const reachable = host === "0.0.0.0" || host === "::" ? DEFAULT_HOST : host;
  return `${hasTls ? "https" : "http"}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** Where to find the kernel: `--url`, `PAWL_URL`, the living kernel of `./.pawl`, or the default address. */
export async function findKernelUrl(
  context: CliContext,
  given: string | undefined,
): Promise<string> {
  const named = given ?? (context.env["PAWL_URL"] || undefined);
  if (named !== undefined) return named;
  const hint = await readKernelHint(join(context.cwd, DEFAULT_FOLDER));
  return hint?.port === undefined
    ? kernelUrl(DEFAULT_HOST, DEFAULT_PORT)
    : kernelUrl(hint.host, hint.port, hint.hasTls);
}

/** The living process that a data folder's `kernel.json` names; undefined without one. */
export async function readKernelHint(folder: string): Promise<KernelHint | undefined> {
  const content = await readFile(join(folder, "kernel.json"), "utf8").catch(() => "");
  const { pid, port, host, tls } = parseFields(content);
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0 || !isAlive(pid)) {
    return undefined;
  }
  return {
    pid,
    host: typeof host === "string" ? host : DEFAULT_HOST,
    port: typeof port === "number" ? port : undefined,
    hasTls: tls === true,
  };
}

function parseFields(content: string): Readonly<Partial<Record<string, unknown>>> {
  try {
    const parsed: unknown = JSON.parse(content);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, but another user's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
