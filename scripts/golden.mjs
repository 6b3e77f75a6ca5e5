/* `npm run golden -- history|store NAME`: sets up, then writes what later commits must still be able to read. */
import { refuseOldNode } from "./lib/node-version.mjs";

refuseOldNode();
// Loaded only now: what follows is written for a Node that the line above let through.
void import("./lib/go-on.mjs").then(({ setUpAndHandOver }) =>
  setUpAndHandOver({
    holder: "npm run golden",
    packages: ["test"],
    entry: "test/dist/goldens/support/record-golden.js",
  }),
);
