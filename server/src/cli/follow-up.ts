import { isUnsafe } from "./format/text.js";

/** Commands that are printed for people to run next. Each runs exactly as it is printed. */

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** A word as a shell reads it back: itself where it is plain, else in quotes. */
export function quoteWord(word: string): string {
  if (PLAIN_WORD.test(word)) return word;
  if (!isUnsafe(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  // bash and zsh read this form; what moves the cursor or is not seen must not reach the terminal as it is.
  const escaped = [...word].map((character) => {
    if (character === "'" || character === "\\") return `\\${character}`;
    if (!isUnsafe(character)) return character;
    return [...new TextEncoder().encode(character)]
      .map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`)
      .join("");
  });
  return `$'${escaped.join("")}'`;
}

/** What a printed command must say to reach the same kernel or file as the same principal: what was given by option, restated. */
export interface FollowUpOptions {
  readonly url?: string | undefined;
  readonly namespace?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly dir?: string | undefined;
  readonly tokens?: string | undefined;
}

/** Makes the commands that are printed. */
export class FollowUps {
  readonly #suffix: readonly string[];

  constructor({ url, namespace, tokenFile, dir, tokens }: FollowUpOptions) {
    const given = [
      ["--url", url],
      ["--namespace", namespace],
      ["--token-file", tokenFile],
      ["--dir", dir],
      ["--tokens", tokens],
    ] as const;
    this.#suffix = given.flatMap(([option, value]) => (value === undefined ? [] : [option, value]));
  }

  /**
   * A command line: words of the command, then arguments, then `options`. Arguments that begin with a
   * dash come last, behind `--`.
   */
  command(words: string, args: readonly string[] = [], options: readonly string[] = []): string {
    const isDashed = args.some((argument) => argument.startsWith("-"));
    const rest = [...options, ...this.#suffix];
    const ordered = isDashed ? [...rest, "--", ...args] : [...args, ...rest];
    return ["npx --no pawl", words, ...ordered.map(quoteWord)].join(" ");
  }
}
