import { writeFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { PROJECTS } from "./projects.js";

/** What one run of the tests came to; `.ci/run` reads it. */
export interface TestCounts {
  readonly passed: number;
  /** Failed tests, and each error that belongs to no single test (an import, a hook, a stray rejection). */
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
  readonly skips: readonly string[];
  /** Projects that this machine cannot run, with what they need. */
  readonly projectsNotRun: readonly string[];
}

/** Where to write the counts as JSON; without it they are only printed. */
const REPORT_VARIABLE = "PAWL_TEST_REPORT";

/** Names every test that did not run, and writes the counts for scripts. */
export class CountReporter implements Reporter {
  /** Called by vitest at the end of a run. */
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly { readonly message?: string }[],
  ): void {
    const counts = countTests(modules, unhandledErrors);
    for (const skip of counts.skips) process.stdout.write(`skipped: ${skip}\n`);
    for (const project of counts.projectsNotRun) process.stdout.write(`not run: ${project}\n`);
    const path = process.env[REPORT_VARIABLE];
    if (path !== undefined && path !== "") writeFileSync(path, `${JSON.stringify(counts)}\n`);
  }
}

// biome-ignore lint/style/noDefaultExport: vitest looks for a reporter named by its path there.
export default CountReporter;

function countTests(
  modules: readonly TestModule[],
  unhandledErrors: readonly { readonly message?: string }[],
): TestCounts {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const inState = (...states: readonly string[]): string[] =>
    tests.filter((test) => states.includes(test.result().state)).map(nameTest);
  const passes = inState("passed");
  // A test that is still pending when the run ends was cut off, which is no pass.
  const failures = [...inState("failed", "pending"), ...modules.flatMap(listLooseErrors)];
  failures.push(
    ...unhandledErrors.map((error) => `unhandled error: ${error.message ?? "unknown"}`),
  );
  const skips = inState("skipped");
  return {
    passed: passes.length,
    failed: failures.length,
    skipped: skips.length,
    failures,
    skips,
    projectsNotRun: PROJECTS.filter(({ isRun }) => !isRun).map(
      ({ name, needs }) => `${name} (needs ${needs})`,
    ),
  };
}

/** Errors of a file or a describe block: an import that failed, a hook that threw. */
function listLooseErrors(module: TestModule): string[] {
  const owners = [module, ...module.children.allSuites()];
  return owners.flatMap((owner) =>
    owner.errors().map((error) => `${module.relativeModuleId}: ${error.message}`),
  );
}

function nameTest(test: TestCase): string {
  return `[${test.project.name}] ${test.module.relativeModuleId} > ${test.fullName}`;
}
