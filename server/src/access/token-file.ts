import { readFile, stat } from "node:fs/promises";
import { parseEntries, type TokenEntry } from "./token-entry.js";

/** Name of the token file in a data folder. */
export const tokenFileName = "tokens.json";

/** Why a token file is not used. It names the file and what in it; never a part of a token. */
export class TokenFileError extends Error {
  override readonly name: string = "TokenFileError";
  readonly code:
    | "PAWL_TOKEN_FILE_INVALID"
    | "PAWL_TOKEN_FILE_ABSENT"
    | "PAWL_TOKEN_FILE_OPEN"
    | "PAWL_TOKEN_FILE_LOCKED"
    | "PAWL_TOKEN_FILE_OWNER";
  readonly path: string;

  constructor(code: TokenFileError["code"], path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.path = path;
  }
}

/** What tells one content of a file from the next without reading it. */
export async function stampOf(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeNs, ctimeNs, mode, uid } = await stat(path, { bigint: true });
    return `${ino}/${size}/${mtimeNs}/${ctimeNs}/${mode}/${uid}`;
  } catch (error) {
    if (isAbsent(error)) {
      return undefined;
    }
    throw error;
  }
}

/**
 * Reads a token file; undefined when there is none.
 *
 * @throws TokenFileError PAWL_TOKEN_FILE_INVALID for another content, PAWL_TOKEN_FILE_OPEN when others than its owner may write it.
 */
export async function readTokenFile(path: string): Promise<readonly TokenEntry[] | undefined> {
  let content: string;
  try {
    const { mode } = await stat(path);
    if (process.platform !== "win32" && (mode & 0o022) !== 0) {
      const message = `Expected only the owner of ${path} to be able to write it, but its mode is ${(mode & 0o777).toString(8)}: whoever writes it makes principals. Run chmod 600.`;
      throw new TokenFileError("PAWL_TOKEN_FILE_OPEN", path, message);
    }
    content = await readFile(path, "utf8");
  } catch (error) {
    if (isAbsent(error)) {
      return undefined;
    }
    throw error;
  }
  return parseTokenFile(path, content);
}

/** Reads the content of a token file. @throws TokenFileError */
export function parseTokenFile(path: string, content: string): readonly TokenEntry[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (cause) {
    throw invalid(path, "it is no JSON", cause);
  }
  if (typeof parsed !== "object" || parsed === null || !("version" in parsed)) {
    throw invalid(path, "it has no version");
  }
  if (parsed.version !== 1) {
    throw invalid(
      path,
      `its version is ${String(parsed.version)}, and this kernel reads version 1`,
    );
  }
  const entries = parseEntries("entries" in parsed ? parsed.entries : undefined);
  if (typeof entries === "string") {
    throw invalid(path, entries);
  }
  return entries;
}

/** The content of a token file. */
export function formatTokenFile(entries: readonly TokenEntry[]): string {
  return `${JSON.stringify({ version: 1, entries }, undefined, 2)}\n`;
}

function invalid(path: string, found: string, cause?: unknown): TokenFileError {
  const message = `Expected a token file at ${path}, as pawl token create writes it, but ${found}.`;
  return new TokenFileError("PAWL_TOKEN_FILE_INVALID", path, message, { cause });
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
