// Goal: a supervised kernel gets a larger young generation, and whoever named one keeps theirs.
import { nodeFlags } from "@pawl/server/cli/serve/node-flags.js";
import { expect, it } from "vitest";

it("asks for a larger young generation", () => {
  expect(nodeFlags(["--enable-source-maps"])).toEqual([
    "--enable-source-maps",
    "--max-semi-space-size=32",
  ]);
});

it.each([
  [["--max-semi-space-size=8"], ""],
  [["--max_semi_space_size=8"], ""],
  [[], "--no-warnings --max-semi-space-size=8"],
])("leaves a size that was named: %j %j", (execArgv, nodeOptions) => {
  expect(nodeFlags(execArgv, nodeOptions)).toEqual(execArgv);
});
