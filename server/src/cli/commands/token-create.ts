import { type Command, InvalidArgumentError } from "commander";
import { editTokenFile } from "../../access/edit-token-file.js";
import {
  accessRoles,
  conflictOf,
  isAccessRole,
  isPrincipalName,
  isRoleName,
  nameRule,
  roleRule,
} from "../../access/roles.js";
import { formatToken, hashSecret, makeEntryId, makeSecret } from "../../access/token.js";
import { certificatePattern, type TokenEntry } from "../../access/token-entry.js";
import { usageError } from "../cli-error.js";
import type { CliContext } from "../context.js";
import { readLength } from "../options.js";
import { Output } from "../output.js";
import {
  addTokenFileOptions,
  makeFolderOf,
  onTokenFile,
  type TokenFileOptions,
  tokenPath,
} from "../tokens/token-options.js";
import { describeGrants, entryJson, rolesWithoutAccess } from "../tokens/token-text.js";

interface CreateOptions extends TokenFileOptions {
  readonly name: string;
  readonly role: readonly string[];
  readonly namespace?: readonly string[];
  readonly expires?: number;
  readonly certificate?: readonly string[];
}

/** `pawl token create`. */
export function addTokenCreate(group: Command, context: CliContext): void {
  const command = group
    .command("create")
    .description("make a token: a principal with roles, in some namespaces; it is shown once")
    .requiredOption(
      "--name <name>",
      "name of the principal, as it is shown on what it does",
      readName,
    )
    .requiredOption(
      "--role <role>",
      `role; may be given again: ${Object.keys(accessRoles).join(", ")}, or one that approvals ask for`,
      gather(readRole),
    )
    .option(
      "--namespace <name>",
      "namespace of the roles; may be given again; * is every one (default: default)",
      gather(readGrantedNamespace),
    )
    .option(
      "--expires <length>",
      "ends after this time, such as 90d or 12h (default: never)",
      readLength,
    )
    .option(
      "--certificate <name>",
      "make no token: a client certificate with this name is the proof (CN=…, DNS:…, URI:…, email:…)",
      gather(readCertificate),
    );
  addTokenFileOptions(command).action((options: CreateOptions) => create(context, options));
}

async function create(context: CliContext, options: CreateOptions): Promise<void> {
  const conflict = conflictOf(options.role);
  if (conflict !== undefined) {
    throw usageError(
      `Expected roles that one principal may hold, but ${conflict}. Make two tokens, of two names.`,
    );
  }
  if (!options.role.some(isAccessRole)) {
    const known = Object.keys(accessRoles).join(", ");
    throw usageError(
      `Expected at least one role of ${known}, but there is only ${options.role.join(", ")}, which opens nothing.`,
    );
  }
  const path = tokenPath(context, options);
  await makeFolderOf(path);
  const secret = options.certificate === undefined ? makeSecret() : undefined;
  const entry = buildEntry(options, secret, context.clock.nowMs());
  await onTokenFile(() =>
    editTokenFile(path, (entries) => ({ entries: [...entries, entry], answer: undefined })),
  );
  tell(context, options, { path, entry, secret });
}

function buildEntry(options: CreateOptions, secret: string | undefined, nowMs: number): TokenEntry {
  const createdAt = new Date(nowMs).toISOString();
  const namespaces = options.namespace ?? ["default"];
  return {
    id: makeEntryId(),
    name: options.name,
    grants: namespaces.map((namespace) => ({ namespace, roles: [...options.role] })),
    createdAt,
    ...(options.expires === undefined
      ? {}
      : { expiresAt: new Date(nowMs + options.expires).toISOString() }),
    secrets:
      secret === undefined ? [] : [{ hash: hashSecret(secret).toString("base64url"), createdAt }],
    certificates: [...(options.certificate ?? [])],
  };
}

interface Made {
  readonly path: string;
  readonly entry: TokenEntry;
  readonly secret: string | undefined;
}

function tell(
  context: CliContext,
  { json }: TokenFileOptions,
  { path, entry, secret }: Made,
): void {
  const out = new Output(context, json);
  const token = secret === undefined ? undefined : formatToken({ id: entry.id, secret });
  if (out.isJson) {
    out.json({
      ...entryJson(entry, context.clock.nowMs()),
      ...(token === undefined ? {} : { token }),
      file: path,
    });
    return;
  }
  const what = token === undefined ? "Entry" : "Token";
  out.notice(`${what} ${entry.id} of ${entry.name}: ${describeGrants(entry)}, in ${path}.`);
  const without = rolesWithoutAccess(entry);
  if (without.length > 0) {
    out.notice(
      `By ${without.join(" and ")} alone nothing may be called: approvals may ask for it.`,
    );
  }
  if (token !== undefined) {
    // Alone on stdout, so that TOKEN=$(pawl token create …) takes it and nothing else.
    out.notice(
      "It is shown once; the file holds its hash alone. A client sends it from PAWL_TOKEN or --token-file.",
    );
    out.lines(token);
  }
}

function gather<T>(read: (text: string) => T): (text: string, before?: readonly T[]) => T[] {
  return (text, before = []) => [...before, read(text)];
}

function readName(text: string): string {
  if (!isPrincipalName(text)) throw new InvalidArgumentError(`Expected ${nameRule}.`);
  return text;
}

function readRole(text: string): string {
  if (!isRoleName(text)) throw new InvalidArgumentError(`Expected ${roleRule}.`);
  return text;
}

function readGrantedNamespace(text: string): string {
  if (text === "") throw new InvalidArgumentError("Expected the name of a namespace, or *.");
  return text;
}

function readCertificate(text: string): string {
  if (!certificatePattern.test(text)) {
    throw new InvalidArgumentError(
      "Expected a name in a certificate, such as CN=worker-1 or DNS:worker-1.internal.",
    );
  }
  return text;
}
