import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { usageError } from "./cli-error.js";
import type { CliContext } from "./context.js";

/** How a command says who it is. Secrets come from files and the environment only: arguments are seen by all. */
export interface CredentialOptions {
  readonly tokenFile?: string;
}

/** The same, read. */
export interface Credentials {
  readonly token: string | undefined;
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
}

/** Nothing is proved, and the host's own authorities are trusted. */
export const noCredentials: Credentials = { token: undefined, tls: {} };

/**
 * Reads the token of `--token-file`, `PAWL_TOKEN` or `PAWL_TOKEN_FILE`, in this order, and for https the files that `PAWL_CA`, `PAWL_CERT`
 * and `PAWL_KEY` name.
 */
export async function readCredentials(
  context: CliContext,
  options: CredentialOptions,
): Promise<Credentials> {
  const { env } = context;
  const read = async (name: string, option: string | undefined, variable: string) => {
    const path = option ?? (env[variable] || undefined);
    return path === undefined ? undefined : await readOrRefuse(resolve(context.cwd, path), name);
  };
  const fromFile = await read("token", options.tokenFile, "PAWL_TOKEN_FILE");
  const [ca, cert, key] = await Promise.all([
    read("certificate authority", undefined, "PAWL_CA"),
    read("certificate", undefined, "PAWL_CERT"),
    read("private key", undefined, "PAWL_KEY"),
  ]);
  const token =
    options.tokenFile === undefined && env["PAWL_TOKEN"] ? env["PAWL_TOKEN"] : `${fromFile ?? ""}`;
  return {
    token: token.trim() === "" ? undefined : token.trim(),
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  };
}

async function readOrRefuse(path: string, name: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(`Expected a ${name} in ${path}, but it cannot be read: ${why}.`);
  }
}
