import { defineConfig } from "vitest/config";
import { PROJECTS, type ProjectName } from "./test/support/projects.js";

const conditions = ["pawl-source"];

/** Worker threads inherit it, and so can run the sources too. */
const sourceHooks = new URL("./test/support/source-hooks.mjs", import.meta.url).href;

/** Tests of another project's kind say so in their name: `disk-full.root.test.ts`. */
const SPECIAL_TESTS = ["test/**/*.root.test.ts", "test/set-up/**"];

const INCLUDES: Readonly<Record<ProjectName, string>> = {
  core: "test/**/*.test.ts",
  "set-up": "test/set-up/**/*.test.ts",
  root: "test/**/*.root.test.ts",
};

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ["--import", sourceHooks],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/support/count-reporter.ts"],
    projects: PROJECTS.filter(({ isRun }) => isRun).map(({ name }, position) => ({
      extends: true,
      test: {
        name,
        include: [INCLUDES[name]],
        exclude: ["**/node_modules/**", "**/dist/**", ...(name === "core" ? SPECIAL_TESTS : [])],
        // One project after the other: set-up's own `npm ci` must not slow what watches a clock.
        sequence: { groupOrder: position },
      },
    })),
  },
});
