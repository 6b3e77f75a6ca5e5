import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listTextFiles, REPOSITORY, type TextFile } from "../tidy/source-file.js";
import { findFault, splitCommands, splitWords } from "./support/command-line.js";
import { readFences, readInlineCode } from "./support/markdown.js";
import { allPages } from "./support/pages.js";

const { scripts } = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")) as {
  scripts: Readonly<Record<string, string>>;
};

const PAWL = /^(?:npx --no )?pawl (?!…)/;

/** What `examples/python/set-up.py` makes. */
const python = ".set-up/python/env/bin/python";

/** What else a line of shell in the documentation may call. */
const OTHERS = new Set([
  "echo",
  "curl",
  "export",
  "openssl",
  "node",
  "cp",
  "tar",
  "cat",
  "cd",
  "mkdir",
  "python3",
  python,
]);

/** What is wrong with one command of a block of shell. */
function faultOfCommand(command: string): string | undefined {
  if (PAWL.test(command)) return findFault(command.replace(PAWL, ""), { isWhole: true });
  const [first = "", second = "", third = ""] = splitWords(command);
  if (first !== "npm") return OTHERS.has(first) ? undefined : `nobody knows ${first}`;
  if (second === "ci" || second === "install") return undefined;
  const name = second === "run" ? third : second;
  return Object.hasOwn(scripts, name) ? undefined : `there is no script ${name}`;
}

function faultsOfPage(page: TextFile): string[] {
  return [...faultsOfShell(page), ...faultsOfInlineCode(page)];
}

function faultsOfShell({ path, text }: TextFile): string[] {
  const faults: string[] = [];
  for (const { text: block, line } of readFences(text).filter(
    ({ language }) => language === "sh",
  )) {
    for (const { text: command, isRedirect } of splitCommands(block)) {
      const fault = isRedirect ? undefined : faultOfCommand(command);
      if (fault !== undefined) faults.push(`${path}:${line}: ${command}: ${fault}`);
    }
  }
  return faults;
}

function faultsOfInlineCode({ path, text }: TextFile): string[] {
  return readInlineCode(text)
    .filter(({ text: code }) => PAWL.test(code))
    .flatMap(({ text: code, number }) => {
      const fault = findFault(code.replace(PAWL, ""), { isWhole: false });
      return fault === undefined ? [] : [`${path}:${number}: ${code}: ${fault}`];
    });
}

describe("the commands in all pages", () => {
  it("are ones that pawl and npm know", () => {
    const shells = allPages.flatMap(({ text }) => readFences(text));
    expect(shells.filter(({ language }) => language === "sh").length).toBeGreaterThan(5);
    expect(allPages.flatMap(faultsOfPage)).toEqual([]);
  });

  it.each([
    ["```sh\npawl run begin x\n```", "run has no command begin"],
    ["```sh\npawl run show\n```", "show needs an argument run"],
    ["```sh\npawl run\n```", "run is a group of commands"],
    ["```sh\npawl run start greeting\n```", "start needs --plan"],
    ["```sh\nnpx --no pawl serve \\\n  --folder x\n```", "serve has no option --folder"],
    ["```sh\npawl why a b\n```", "why takes no argument b"],
    ["```sh\necho '{}' > a.json && pawl go\n```", "pawl has no command go"],
    ["```sh\nnpm run fly\n```", "there is no script fly"],
    ["```sh\nrm -rf x\n```", "nobody knows rm"],
    ["`pawl reviews resolve 1-0 --done`", "resolve has no option --done"],
  ])("would be found wrong: %s", (text, fault) => {
    expect(faultsOfPage({ path: "x.md", text })).toEqual([expect.stringContaining(fault)]);
  });

  it.each([
    "```sh\nnpx --no pawl serve --dir .pawl # a comment\n```",
    "```sh\nnpx --no pawl run list --json | cat\n```",
    "`pawl run`, `pawl reviews resolve <review> --choice retry`, `pawl.v1.Plan`, `pawl`",
    '```sh\nnpx --no pawl run start g --plan p.json --input \'{"a":"b | c"}\'\n```',
  ])("are right in: %s", (text) => {
    expect(faultsOfPage({ path: "x.md", text })).toEqual([]);
  });
});

describe("the commands that messages name", () => {
  /** The command in a message: from `pawl` to the end of the text or sentence, with what is filled in as one word. */
  function commandsOf({ text }: TextFile): string[] {
    return [...text.matchAll(/^(?!\s*(?:\/?\*|\/\/)).*?["'`] ?(?:npx --no )?pawl ([a-z][^"'`]*)/gm)]
      .map(([, line = ""]) => line.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "x"))
      .map((line) => line.replace(/(?:[.;:](?:\s|$)| \().*$/, "").trim());
  }

  it("are ones that pawl knows", () => {
    const sources = listTextFiles((path) => /^(?:sdk|server|examples)\/.*\.ts$/.test(path));
    const commands = sources.flatMap(commandsOf);
    expect(commands.length).toBeGreaterThan(8);
    const faults = commands.map((line) => {
      const fault = findFault(line, { isWhole: false });
      return fault === undefined ? "" : `pawl ${line}: ${fault}`;
    });
    expect(faults.filter((fault) => fault !== "")).toEqual([]);
  });
});
