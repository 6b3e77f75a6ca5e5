import type { Command } from "commander";
import { editTokenFile } from "../../access/edit-token-file.js";
import type { CliContext } from "../context.js";
import { Output } from "../output.js";
import {
  addTokenFileOptions,
  onTokenFile,
  refuseToken,
  type TokenFileOptions,
  tokenFollowUps,
  tokenPath,
} from "../tokens/token-options.js";

/** `pawl token revoke`. */
export function addTokenRevoke(group: Command, context: CliContext): void {
  const command = group
    .command("revoke")
    .argument("<id>", "id of the token, as pawl token list shows it")
    .description("end a token: its open calls end within two seconds");
  addTokenFileOptions(command).action((id: string, options: TokenFileOptions) =>
    revoke(context, id, options),
  );
}

async function revoke(context: CliContext, id: string, options: TokenFileOptions): Promise<void> {
  const path = tokenPath(context, options);
  const { name, left } = await onTokenFile(() =>
    editTokenFile(path, (entries) => {
      const found = entries.find((entry) => entry.id === id);
      if (found === undefined) {
        throw refuseToken(`Expected a token with the id "${id}" in ${path}, but there is none.`, [
          tokenFollowUps(options).command("token list"),
        ]);
      }
      const others = entries.filter((entry) => entry !== found);
      return { entries: others, answer: { name: found.name, left: others.length } };
    }),
  );
  const out = new Output(context, options.json);
  if (out.isJson) {
    out.json({ id, name, revoked: true, file: path });
    return;
  }
  out.lines(
    `Token ${id} of ${name} is revoked: a kernel that uses ${path} ends its calls within two seconds.`,
  );
  if (left === 0) {
    out.notice(
      "No token is left, so nobody can call that kernel. It never goes back to asking for none by itself.",
    );
  }
}
