import type { Command } from "commander";
import { readTokenFile } from "../../access/token-file.js";
import type { CliContext } from "../context.js";
import { count } from "../format/text.js";
import { Output } from "../output.js";
import {
  addTokenFileOptions,
  onTokenFile,
  type TokenFileOptions,
  tokenFollowUps,
  tokenPath,
} from "../tokens/token-options.js";
import { describeGrants, entryJson, stateOf } from "../tokens/token-text.js";

/** `pawl token list`. */
export function addTokenList(group: Command, context: CliContext): void {
  const command = group.command("list").description("list the entries of a token file");
  addTokenFileOptions(command).action((options: TokenFileOptions) => list(context, options));
}

async function list(context: CliContext, options: TokenFileOptions): Promise<void> {
  const path = tokenPath(context, options);
  const entries = await onTokenFile(() => readTokenFile(path));
  const out = new Output(context, options.json);
  const nowMs = context.clock.nowMs();
  if (out.isJson) {
    for (const entry of entries ?? []) out.json(entryJson(entry, nowMs));
    return;
  }
  if (entries === undefined) {
    out.lines(
      `There is no token file at ${path}: a kernel there asks for no token, and everyone is local.`,
    );
    out.next([
      tokenFollowUps(options).command("token create", [], ["--name", "NAME", "--role", "ROLE"]),
    ]);
    return;
  }
  out.lines(`${count(entries.length, "token")} in ${path}.`);
  if (entries.length === 0) {
    out.lines("Nobody can call a kernel that uses it.");
    return;
  }
  out.table(
    ["ID", "NAME", "ROLES", "STATE", "EXPIRES", "PROOF"],
    entries.map((entry) => [
      entry.id,
      entry.name,
      describeGrants(entry),
      stateOf(entry, nowMs),
      entry.expiresAt ?? "never",
      entry.certificates.length > 0
        ? entry.certificates.join(" ")
        : count(entry.secrets.length, "secret"),
    ]),
  );
}
