import { readFileSync } from "node:fs";
import { processContext } from "@pawl/server/cli/context.js";
import { exitCodes } from "@pawl/server/cli/exit-codes.js";
import { helpExamples } from "@pawl/server/cli/help-examples.js";
import { buildProgram } from "@pawl/server/cli/program.js";
import { describe, expect, it } from "vitest";

type Command = ReturnType<typeof buildProgram>;

const page = readFileSync(new URL("../../docs/reference/cli.md", import.meta.url), "utf8");

const never = (): never => {
  throw new Error("Expected no command to run");
};

const program = buildProgram(
  processContext(),
  { serve: never, verify: never, restore: never, doctor: never, verifyExport: never },
  never,
);

function leaves(command: Command, words: string): { name: string; command: Command }[] {
  if (command.commands.length === 0) return [{ name: words, command }];
  return command.commands.flatMap((child) => leaves(child, `${words} ${child.name()}`));
}

const commands = leaves(program, "pawl");

/** Of every command that talks to a kernel: described once, in the rules for all. */
const COMMON = ["--token-file <file>"];

function ownOptions(command: Command): string[] {
  return command.options.map(({ flags }) => flags).filter((flags) => !COMMON.includes(flags));
}

/** The part of the page below a command's heading. */
function sectionOf(name: string): string {
  const [, section = ""] = page.split(`\n### \`${name}\`\n`);
  return section.split(/\n##+ /)[0] ?? "";
}

describe("docs/reference/cli.md", () => {
  it("has a program to compare with", () => {
    expect(commands.length).toBeGreaterThanOrEqual(16);
  });

  it.each(commands.map(({ name }) => name))("has a section on %s", (name) => {
    expect(sectionOf(name)).not.toBe("");
  });

  it.each(
    commands.flatMap(({ name, command }) => ownOptions(command).map((flags) => [name, flags])),
  )("in the section on %s explains %s", (name, flags) => {
    expect(sectionOf(name)).toMatch(
      new RegExp(`^\\| \`${flags.replaceAll(/[[\]]/g, "\\$&")}\` *\\| \\S`, "m"),
    );
  });

  it("names no option that a command does not have", () => {
    for (const { name, command } of commands) {
      const named = [...sectionOf(name).matchAll(/^\| `(--[^`]+)`/gm)].map((match) => match[1]);
      expect(named.sort()).toEqual(ownOptions(command).sort());
    }
  });

  it("has no section on a command that is not there", () => {
    const headings = [...page.matchAll(/^### `([^`]+)`$/gm)].map((match) => match[1]);
    expect(headings.sort()).toEqual(commands.map(({ name }) => name).sort());
  });

  it.each(COMMON)("explains %s in the rules for every command", (flags) => {
    const [rules = ""] = page.split("\n## Kernel\n");
    expect(rules).toContain(`\`${flags}\``);
  });

  it.each(commands.map(({ name }) => name))("shows the examples of the help of %s", (name) => {
    const shown = sectionOf(name);
    for (const example of helpExamples[name.replace("pawl ", "")] ?? []) {
      expect(shown).toContain(`npx --no pawl ${example}\n`);
    }
  });

  it("names the arguments of each command", () => {
    for (const { name, command } of commands) {
      for (const argument of command.registeredArguments) {
        const shown = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
        expect(sectionOf(name)).toContain(shown);
      }
    }
  });

  it("lists every exit code", () => {
    for (const code of Object.values(exitCodes))
      expect(page).toMatch(new RegExp(`^\\| ${code} +\\|`, "m"));
  });

  it("gives every option of every command a description", () => {
    for (const { command } of commands) {
      expect(command.description()).not.toBe("");
      for (const option of command.options) expect(option.description).not.toBe("");
    }
  });
});
