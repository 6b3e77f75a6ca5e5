#!/usr/bin/env node
/*
 * The `pawl` command. Committed with its run bit, because npm links only a `bin` that is there when
 * it installs. It holds no logic: the command itself is src/cli/main.ts, built to dist/cli/main.js.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const entry = new URL("../dist/cli/main.js", import.meta.url);

if (existsSync(entry)) {
  const { main } = await import(entry.href);
  process.exitCode = await main(process.argv.slice(2));
} else {
  process.stderr.write(
    `pawl: expected the built command at ${fileURLToPath(entry)}, but it is not there.\n` +
      'In a clone of the repository run "npm run build" (or "npm start"), then try again.\n',
  );
  process.exitCode = 1;
}
