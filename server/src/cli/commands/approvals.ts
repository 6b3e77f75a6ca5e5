import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { addApprovalsDecide } from "./approvals-decide.js";
import { addApprovalsList } from "./approvals-list.js";
import { addApprovalsRevoke } from "./approvals-revoke.js";
import { addApprovalsShow } from "./approvals-show.js";

/** `pawl approvals …`. */
export function addApprovalsCommands(program: Command, context: CliContext): void {
  const group = program
    .command("approvals")
    .description("read and decide actions that people must allow first");
  addApprovalsList(group, context);
  addApprovalsShow(group, context);
  addApprovalsDecide(group, context);
  addApprovalsRevoke(group, context);
}
