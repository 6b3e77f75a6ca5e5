import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { PROJECTS, type ProjectName } from "./test/support/projects.js";

const conditions = ["pawl-source"];

/** Worker threads inherit it, and so can run the sources too. */
const sourceHooks = new URL("./test/support/source-hooks.mjs", import.meta.url).href;

/** Where each project's tests are; `core` has all that no other has. */
const INCLUDES: Readonly<Record<ProjectName, readonly string[]>> = {
  core: ["test/**/*.test.ts"],
  // Each call of a function at each crash point takes as long as the crashes of processes. Where processes are killed, they are those of a worker and a kernel.
  crash: [
    "test/crash/**/*.test.ts",
    "test/functions/cancel-kills.test.ts",
    "test/testkit/every-call-*.test.ts",
  ],
  python: ["test/python/**/*.test.ts"],
  root: ["test/**/*.root.test.ts"],
  "set-up": ["test/set-up/**/*.test.ts"],
};

/** A test that needs root says so in its name wherever it is, and is of that project alone. */
function listExcludes(name: ProjectName): string[] {
  const others = PROJECTS.filter((project) => project.name !== name && project.name !== "core");
  const excluded = name === "core" ? others.flatMap((project) => INCLUDES[project.name]) : [];
  const roots = name === "root" ? [] : INCLUDES.root;
  return ["**/node_modules/**", "**/dist/**", ...excluded, ...roots];
}

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ["--import", sourceHooks],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // A loaded machine may take long; who waits for something that never comes is told all the same.
    expect: { poll: { timeout: 60_000 } },
    reporters: ["default", "./test/support/count-reporter.ts"],
    // Much of what runs here waits, for leases to end and for processes to come up: two files go side by side also on two processors.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: PROJECTS.filter(({ isRun }) => isRun).map(({ name }, position) => ({
      extends: true,
      test: {
        name,
        include: [...INCLUDES[name]],
        exclude: listExcludes(name),
        // One project after the other: set-up's own `npm ci` must not slow what watches a clock.
        sequence: { groupOrder: position },
      },
    })),
  },
});
