import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Running, run } from "../set-up/running.js";

const main = new URL("../../examples/dist/demo/main.js", import.meta.url).href;
const script = `
const { main } = await import(${JSON.stringify(main)});
process.exit(await main(process.argv.slice(1)));
`;

function demo(...args: string[]): Running {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  return run(process.execPath, ["--input-type=module", "-e", script, "--", ...args], { cwd });
}

const windows = [
  "before-sink",
  "after-sink",
  "after-completion",
  "kernel-before-segment",
  "kernel-after-segment",
  "kernel-checkpoint",
  "kernel-start",
  "both",
  "single-before-sink",
  "single-after-sink",
  "single-after-completion",
  "coordinator-after-worker",
  "merge-of-all",
  "merge-of-some",
  "approval-pending",
  "approved-not-consumed",
  "consumed-not-performed",
  "content-changed",
  "expired-while-down",
  "two-approvers",
];

describe("the crash demo", () => {
  it("tries every window at every kind of sink, and every line is right", async () => {
    const all = demo("--json");
    const { code } = await all.exit;
    const lines: Record<string, unknown>[] = all
      .output()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(all.errors()).toBe("");
    expect(lines.map(({ window, sink }) => `${window} ${sink}`)).toEqual(
      windows.flatMap((window) =>
        ["idempotent", "reconcilable", "opaque"].map((sink) => `${window} ${sink}`),
      ),
    );
    const fields = ["window", "sink", "killed", "sinkCalls", "sinkEffects", "outcome", "ok"];
    for (const line of lines) {
      expect(Object.keys(line)).toEqual(fields);
      expect(line["ok"]).toBe(true);
      expect(line["sinkEffects"]).toBeLessThanOrEqual(1);
    }
    expect(code).toBe(0);
  }, 600_000);

  it("prints a table for people", async () => {
    const one = demo("--window", "after-sink", "--sink", "idempotent");
    expect(await one.exit).toEqual({ code: 0, signal: null });
    expect(one.output()).toMatch(/^after-sink +idempotent +worker +2 +1 +retried +ok$/m);
    expect(one.output()).toContain("1 line played, all as expected");
  });

  it("does not end well when it would try nothing", async () => {
    expect((await demo("--window", "elsewhere").exit).code).toBe(2);
  });
});
