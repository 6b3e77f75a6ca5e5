import { describe, expect, it } from "vitest";
import { readSettings, SettingsInvalid, usage } from "../../examples/demo/settings.js";
import { windows } from "../../examples/demo/windows.js";

describe("the settings of the demo", () => {
  it("are every window with every sink, for people", () => {
    const { rows, json, asksHelp } = readSettings([]);
    expect([rows.length, json, asksHelp]).toEqual([60, false, false]);
    expect(rows.slice(0, 4)).toEqual([
      { window: "before-sink", sink: "idempotent" },
      { window: "before-sink", sink: "reconcilable" },
      { window: "before-sink", sink: "opaque" },
      { window: "after-sink", sink: "idempotent" },
    ]);
  });

  it("choose lines by how their names begin", () => {
    expect(readSettings(["--window", "both", "--sink", "op"]).rows).toEqual([
      { window: "both", sink: "opaque" },
    ]);
    expect(readSettings(["--window", "single"]).rows).toHaveLength(9);
  });

  it.each([
    [["--window", "nope"], '"nope"'],
    [["--sink", "nope"], '"nope"'],
    [["--bogus"], "--bogus"],
    [["extra"], "extra"],
  ])("%j is refused by name", (argv, named) => {
    expect(() => readSettings(argv)).toThrow(SettingsInvalid);
    expect(() => readSettings(argv)).toThrow(named);
  });

  it("are told, every window by its name", () => {
    expect(readSettings(["--help"]).asksHelp).toBe(true);
    for (const window of windows) expect(usage).toContain(window);
  });
});
