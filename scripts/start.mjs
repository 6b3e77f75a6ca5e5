/* `npm start`: sets up, then runs the main job: kernel, example worker and ticket service. */
import { refuseOldNode } from "./lib/node-version.mjs";

refuseOldNode();
// Loaded only now: what follows is written for a Node that the line above let through.
void import("./lib/go-on.mjs").then(({ setUpAndHandOver }) =>
  setUpAndHandOver({
    holder: "npm start",
    packages: ["examples"],
    entry: "examples/dist/main-job/supervisor.js",
  }),
);
