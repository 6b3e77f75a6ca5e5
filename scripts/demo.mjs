/* `npm run demo`: sets up, then kills for real and counts at the sink. */
import { refuseOldNode } from "./lib/node-version.mjs";

refuseOldNode();
// Loaded only now: what follows is written for a Node that the line above let through.
void import("./lib/go-on.mjs").then(({ setUpAndHandOver }) =>
  setUpAndHandOver({
    holder: "npm run demo",
    packages: ["examples"],
    entry: "examples/dist/demo/main.js",
  }),
);
