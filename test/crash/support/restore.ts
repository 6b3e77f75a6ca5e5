/* `pawl restore` in a process of its own that the environment may tell to kill itself. */
import { main } from "@pawl/server/cli/main.js";

const [, , dir = ""] = process.argv;
process.exitCode = await main(["restore", "--dir", dir, "--reason", "a test", "--json"]);
