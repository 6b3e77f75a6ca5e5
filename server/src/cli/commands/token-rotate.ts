import type { Command } from "commander";
import { editTokenFile } from "../../access/edit-token-file.js";
import { formatToken, hashSecret, makeSecret } from "../../access/token.js";
import type { StoredSecret, TokenEntry } from "../../access/token-entry.js";
import type { CliContext } from "../context.js";
import { readLength } from "../options.js";
import { Output } from "../output.js";
import {
  addTokenFileOptions,
  onTokenFile,
  refuseToken,
  type TokenFileOptions,
  tokenFollowUps,
  tokenPath,
} from "../tokens/token-options.js";
import { entryJson } from "../tokens/token-text.js";

interface RotateOptions extends TokenFileOptions {
  readonly overlap: number;
}

const overlapMsDefault = 86_400_000;

/** `pawl token rotate`. */
export function addTokenRotate(group: Command, context: CliContext): void {
  const command = group
    .command("rotate")
    .argument("<id>", "id of the token, as pawl token list shows it")
    .description("make a new secret for a token; the old one counts on for a while")
    .option(
      "--overlap <length>",
      "how long the old secret still counts, such as 1h; 0s: not at all (default: 1d)",
      readLength,
      overlapMsDefault,
    );
  addTokenFileOptions(command).action((id: string, options: RotateOptions) =>
    rotate(context, id, options),
  );
}

async function rotate(context: CliContext, id: string, options: RotateOptions): Promise<void> {
  const path = tokenPath(context, options);
  const secret = makeSecret();
  const nowMs = context.clock.nowMs();
  const rotated = await onTokenFile(() =>
    editTokenFile(path, (entries) => {
      const found = entries.find((entry) => entry.id === id);
      if (found === undefined) {
        throw refuseToken(`Expected a token with the id "${id}" in ${path}, but there is none.`, [
          tokenFollowUps(options).command("token list"),
        ]);
      }
      if (found.secrets.length === 0) {
        throw refuseToken(`Expected a token, but ${id} is proved by a certificate: renew that.`);
      }
      const answer = withSecret(found, secret, { nowMs, overlapMs: options.overlap });
      return { entries: entries.map((entry) => (entry === found ? answer : entry)), answer };
    }),
  );
  const out = new Output(context, options.json);
  const token = formatToken({ id, secret });
  if (out.isJson) {
    out.json({ ...entryJson(rotated, nowMs), token, file: path });
    return;
  }
  const until = new Date(nowMs + options.overlap).toISOString();
  out.notice(
    `The old secret of ${id} (${rotated.name}) counts until ${until}. The new one is shown once.`,
  );
  out.lines(token);
}

/** Two live secrets at most: of those that still counted, the newest ends with the overlap, and older ones now. */
function withSecret(
  entry: TokenEntry,
  secret: string,
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): TokenEntry {
  const createdAt = new Date(nowMs).toISOString();
  const endsAtMs = nowMs + overlapMs;
  const live = entry.secrets.filter(({ expiresAt }) => timeOf(expiresAt) > nowMs);
  const newest = live.at(-1);
  const old: StoredSecret[] =
    newest === undefined || overlapMs === 0
      ? []
      : [
          {
            ...newest,
            expiresAt: new Date(Math.min(timeOf(newest.expiresAt), endsAtMs)).toISOString(),
          },
        ];
  const added = { hash: hashSecret(secret).toString("base64url"), createdAt };
  return { ...entry, secrets: [...old, added] };
}

function timeOf(text: string | undefined): number {
  return text === undefined ? Number.POSITIVE_INFINITY : Date.parse(text);
}
