import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT, setUpAndGoOn } from "./set-up.mjs";

/**
 * Sets up, then hands over to a built module in this same process: it exports
 * `main(argv: readonly string[]): Promise<number>`, where argv is what followed the command and the
 * answer is the exit code. It puts up its own signal handlers before it starts anything that must be
 * ended, and has ended all of it when it answers: the process ends then.
 *
 * @param {{ holder: string, packages: readonly string[], entry: string }} options `entry` relative to
 *   the repository's folder
 * @returns {Promise<never>}
 */
export function setUpAndHandOver({ holder, packages, entry }) {
  return setUpAndGoOn({ holder, packages }, async () => {
    const { main } = await import(pathToFileURL(join(ROOT, entry)).href);
    return main(process.argv.slice(2));
  });
}
