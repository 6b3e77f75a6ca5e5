import { processContext } from "@pawl/server/cli/context.js";
import { helpExamples } from "@pawl/server/cli/help-examples.js";
import { buildProgram } from "@pawl/server/cli/program.js";
import { describe, expect, it } from "vitest";
import { findFault, splitCommands } from "../docs/support/command-line.js";
import { runCli } from "./support/run-cli.js";

type Command = ReturnType<typeof buildProgram>;

const never = (): never => {
  throw new Error("Expected no command to run");
};

function namesOf(command: Command, words: readonly string[]): string[] {
  if (command.commands.length === 0) return [words.join(" ")];
  return command.commands.flatMap((child) => namesOf(child, [...words, child.name()]));
}

const host = { serve: never, verify: never, restore: never, doctor: never, verifyExport: never };
const names = namesOf(buildProgram(processContext(), host, never), []);

describe("pawl … --help", () => {
  it.each(names)("pawl %s shows what it takes, with an example that can be typed", async (name) => {
    const { code, out, errors } = await runCli([...name.split(" "), "--help"]);
    expect([code, errors]).toEqual([0, ""]);
    expect(out).toMatch(new RegExp(`^Usage: pawl ${name} `));
    const [, told = ""] = out.split(/\nExamples?:\n/);
    const examples = told.split("\n").filter((line) => line.startsWith("  npx --no pawl "));
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(example.trim()).toMatch(new RegExp(`^npx --no pawl ${name}(?: |$)`));
      const [command] = splitCommands(example.trim());
      const line = command?.text.replace("npx --no pawl ", "") ?? "";
      expect([line, findFault(line, { isWhole: true })]).toEqual([line, undefined]);
    }
  });

  it.each(names)("pawl help %s shows the same", async (name) => {
    const words = name.split(" ");
    expect(await runCli(["help", ...words])).toEqual(await runCli([...words, "--help"]));
  });

  it("names defaults as they are typed", async () => {
    const { out } = await runCli(["help", "run", "start"]);
    expect(out.replaceAll(/\s+/g, " ")).toContain("restart-closed (default: attach)");
  });

  it("has an example of no command that is not there", () => {
    expect(Object.keys(helpExamples).sort()).toEqual([...names].sort());
  });
});
