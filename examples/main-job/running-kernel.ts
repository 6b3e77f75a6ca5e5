import { readFile } from "node:fs/promises";
import { createPawlClient } from "@pawl/sdk/client";
import { kernelFolder } from "./folders.js";
import { ownToken } from "./token.js";

/** A kernel that serves this folder, whoever started it. */
export interface RunningKernel {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
}

const answerWithinMs = 2_000;

/** The address of a kernel on this machine. */
export function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/**
 * Finds the kernel that serves `./.pawl`. Its `kernel.json` is only a hint, since a killed kernel leaves it behind; so it is
 * asked for the id of its store, and that must be ours.
 */
export async function findRunningKernel(): Promise<RunningKernel | undefined> {
  const { pid, port } = await readJson(`${kernelFolder}/kernel.json`);
  if (typeof pid !== "number" || typeof port !== "number" || !isAlive(pid)) return undefined;
  const { storeId } = await readJson(`${kernelFolder}/STORE`);
  const url = urlOf(port);
  const answered = await askStoreId(url);
  return answered !== undefined && answered === storeId ? { pid, port, url } : undefined;
}

/** Whether a process lives. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, but another user's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function askStoreId(url: string): Promise<string | undefined> {
  const client = createPawlClient({ url, ...ownToken() });
  try {
    const info = await client.admin.getServerInfo({}, { timeoutMs: answerWithinMs });
    return info.storeId;
  } catch {
    // Nothing there, or something else: no kernel to join.
    return undefined;
  } finally {
    client.close();
  }
}

async function readJson(path: string): Promise<Readonly<Partial<Record<string, unknown>>>> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // Absent, or half written by a process that was killed: no hint.
    return {};
  }
}
