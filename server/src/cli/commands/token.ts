import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { addTokenCreate } from "./token-create.js";
import { addTokenList } from "./token-list.js";
import { addTokenRevoke } from "./token-revoke.js";
import { addTokenRotate } from "./token-rotate.js";

/** `pawl token …`. They edit the token file; a kernel that uses it reads it again within seconds. */
export function addTokenCommands(program: Command, context: CliContext): void {
  const group = program.command("token").description("make, list, rotate and revoke tokens");
  addTokenCreate(group, context);
  addTokenList(group, context);
  addTokenRotate(group, context);
  addTokenRevoke(group, context);
}
