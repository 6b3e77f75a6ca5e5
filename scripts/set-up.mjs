/* `npm run build`: installs and builds whatever is stale, and does nothing else. */
import { refuseOldNode } from "./lib/node-version.mjs";

refuseOldNode();
// Loaded only now: what follows is written for a Node that the line above let through.
void import("./lib/set-up.mjs").then(({ ALL_PACKAGES, setUpAndGoOn }) =>
  setUpAndGoOn({ holder: "npm run build", packages: ALL_PACKAGES }, async () => 0),
);
