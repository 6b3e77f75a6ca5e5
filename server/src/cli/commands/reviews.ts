import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { addReviewsList } from "./reviews-list.js";
import { addReviewsResolve } from "./reviews-resolve.js";
import { addReviewsShow } from "./reviews-show.js";
import { addReviewsWatch } from "./reviews-watch.js";

/** `pawl reviews …`. */
export function addReviewsCommands(program: Command, context: CliContext): void {
  const group = program.command("reviews").description("read and decide what waits for a person");
  addReviewsList(group, context);
  addReviewsShow(group, context);
  addReviewsWatch(group, context);
  addReviewsResolve(group, context);
}
