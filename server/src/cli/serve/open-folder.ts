import { resolve } from "node:path";
import { readCrashPoints } from "../../kernel/crash-points.js";
import { type DataFolder, openDataFolder } from "../../log/open-store.js";
import type { ServeOptions } from "../commands/serve.js";
import type { CliContext } from "../context.js";

/** Opens the folder that is to be served; makes it when it is absent or empty. Errors: those of `openDataFolder`. */
export function openFolder(
  context: CliContext,
  { dir }: Pick<ServeOptions, "dir">,
): Promise<DataFolder> {
  const crash = readCrashPoints(context.env);
  return openDataFolder(resolve(context.cwd, dir), {
    create: true,
    onCreationStep: (step) => crash?.hit(`create:${step}`),
  });
}
