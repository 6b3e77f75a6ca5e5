import { processContext } from "@pawl/server/cli/context.js";
import { buildProgram } from "@pawl/server/cli/program.js";

type Command = ReturnType<typeof buildProgram>;

const never = (): never => {
  throw new Error("Expected no command to run");
};

const program = buildProgram(
  processContext(),
  { serve: never, verify: never, restore: never, doctor: never, verifyExport: never },
  never,
);

/** How much of a command line must be there. */
export interface CommandLineRules {
  /** False: required options and arguments may be left out, and a group may stand for its commands. */
  readonly isWhole: boolean;
}

/** What is wrong with a command line behind `pawl`; undefined when it is one that `pawl` takes. */
export function findFault(line: string, { isWhole }: CommandLineRules): string | undefined {
  const words = splitWords(line);
  if (words[0] === "help") return findFault(words.slice(1).join(" "), { isWhole: false });
  let command: Command = program;
  while (command.commands.length > 0 && /^[a-z]/.test(words[0] ?? "")) {
    const word = words.shift();
    const child = command.commands.find((each) => each.name() === word);
    if (child === undefined) return `${command.name()} has no command ${word}`;
    command = child;
  }
  if (isWhole && command.commands.length > 0 && !words.includes("--help")) {
    return `${command.name()} is a group of commands`;
  }
  const { fault, given, positional } = readOptions(command, words);
  if (fault !== undefined) return fault;
  if (command.commands.length === 0 && positional.length > command.registeredArguments.length) {
    return `${command.name()} takes no argument ${positional.at(-1)}`;
  }
  return isWhole ? findMissing(command, given, positional.length) : undefined;
}

interface ReadOptions {
  readonly fault?: string;
  readonly given: ReadonlySet<string>;
  readonly positional: readonly string[];
}

function readOptions(command: Command, words: readonly string[]): ReadOptions {
  const given = new Set<string>();
  const positional: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (!word.startsWith("--")) {
      positional.push(word);
      continue;
    }
    given.add(word);
    if (word === "--help") continue;
    const option = command.options.find(({ long }) => long === word);
    if (option === undefined) {
      return { fault: `${command.name()} has no option ${word}`, given, positional };
    }
    if (option.required) index++;
  }
  return { given, positional };
}

function findMissing(
  command: Command,
  given: ReadonlySet<string>,
  count: number,
): string | undefined {
  if (given.has("--help") || given.has("--version")) return undefined;
  const option = command.options.find(({ mandatory, long }) => mandatory && !given.has(long ?? ""));
  if (option !== undefined) return `${command.name()} needs ${option.long}`;
  const argument = command.registeredArguments[count];
  return argument?.required === true
    ? `${command.name()} needs an argument ${argument.name()}`
    : undefined;
}

/** The words of a line of a shell, without its quotes; only what documentation uses of a shell is understood. */
export function splitWords(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"((?:\\.|[^"])*)"|([^\s'"]+)/g)].map(
    ([, single, double, plain]) => single ?? double?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "",
  );
}

/** The commands of a block of shell: lines are joined at `\`, comments dropped, and parted at `|`, `&&` and `>`. */
export function splitCommands(
  text: string,
): { readonly text: string; readonly isRedirect: boolean }[] {
  const lines = text.replaceAll(/\\\n\s*/g, " ").split("\n");
  return lines.flatMap((line) => {
    const parts = line.split(/(\|\||&&|[|>&;])(?=(?:[^'"]|'[^']*'|"[^"]*")*$)/);
    const commands: { text: string; isRedirect: boolean }[] = [];
    for (let index = 0; index < parts.length; index += 2) {
      const command = (parts[index] ?? "").replace(/(^|\s)#.*$/, "").trim();
      if (command !== "") commands.push({ text: command, isRedirect: parts[index - 1] === ">" });
    }
    return commands;
  });
}
