/* `npm run bench -- NAME`: sets up, then measures. */
import { refuseOldNode } from "./lib/node-version.mjs";

refuseOldNode();
// Loaded only now: what follows is written for a Node that the line above let through.
void import("./lib/go-on.mjs").then(({ setUpAndHandOver }) =>
  setUpAndHandOver({ holder: "npm run bench", packages: ["bench"], entry: "bench/dist/main.js" }),
);
