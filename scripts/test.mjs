/* `npm test [-- ARGUMENTS OF VITEST]`: sets up, then runs the tests of all projects. */
import { refuseOldNode } from "./lib/node-version.mjs";

refuseOldNode();
// Loaded only now: what follows is written for a Node that the line above let through.
void Promise.all([import("./lib/set-up.mjs"), import("./lib/run-tests.mjs")]).then(
  ([{ ALL_PACKAGES, setUpAndGoOn }, { runTests }]) =>
    setUpAndGoOn({ holder: "npm test", packages: ALL_PACKAGES }, runTests),
);
