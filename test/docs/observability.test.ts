import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Metrics } from "@pawl/server/observe/metrics.js";
import { expect, test } from "vitest";

const page = readFileSync(new URL("../../docs/operate/observability.md", import.meta.url), "utf8");

test("docs/operate/observability.md names every metric that a kernel has, with its kind, and no other", async () => {
  const metrics = new Metrics();
  metrics.watchEdge(() => ({ streams: new Map(), calls: 0, connections: 0 }));
  metrics.watchFolder(fileURLToPath(new URL(".", import.meta.url)));
  metrics.watchKernel(() => ({
    ...{ openRuns: 0, residentRuns: 0, leases: 0, sessions: 0, watchers: 0, waiters: 0 },
    ...{
      deadlines: 0,
      overdueMs: 0,
      postponedStarts: 0,
      heldUpObligations: 0,
      liveOutputBytes: 0,
      parkedBytes: 0,
      faults: 0,
      headSequence: 0,
      horizonSequence: 0,
      trimmedSequence: 0,
      logBytes: 0,
      compactions: 0,
      compactWaitingBytes: 0,
    },
    ...{ unsavedBytes: 0, isDiskLow: false, isReadOnly: false, isOpenWorkKnown: true },
    queues: () => [],
    backoffs: () => 0,
  }));
  const types = [...(await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const documented = [...page.matchAll(/^\| `(pawl_[a-z_]+)` *\| (\w+) *\|/gm)];
  const named = (found: readonly RegExpMatchArray[]): string[] =>
    found.map(([, name, kind]) => `${name} ${kind}`).sort();
  expect(named(types).length).toBeGreaterThan(20);
  expect(named(documented)).toEqual(named(types));
});
