import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { addInputsAnswer } from "./inputs-answer.js";
import { addInputsList } from "./inputs-list.js";

/** `pawl inputs …`. */
export function addInputsCommands(program: Command, context: CliContext): void {
  const group = program.command("inputs").description("what tasks ask people");
  addInputsList(group, context);
  addInputsAnswer(group, context);
}
