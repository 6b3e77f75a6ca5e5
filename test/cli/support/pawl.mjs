// What server/bin/pawl.js does, on the TypeScript sources: tests need no build.
import { main } from "@pawl/server/cli/main.js";

process.exitCode = await main(process.argv.slice(2));
