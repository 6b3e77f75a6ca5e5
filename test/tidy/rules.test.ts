import { describe, expect, it } from "vitest";
import { findImportViolations, zoneOf } from "./import-rules.js";
import { parseSource, type SourceFile } from "./source-file.js";
import {
  findDefaultExports,
  findImpurities,
  findLeftovers,
  findTooLong,
  findUndocumented,
} from "./text-rules.js";

function plant(path: string, text: string): SourceFile {
  return parseSource({ path, text });
}

describe("the import rules", () => {
  it.each([
    ["server/src/core/decide/start-run.ts", 'import "node:fs";', "pure"],
    ["server/src/core/state.ts", 'import { x } from "level";', "the store"],
    ["server/src/core/state.ts", 'import { x } from "@connectrpc/connect";', "this package"],
    ["server/src/core/state.ts", 'import type { X } from "../log/key.js";', "import log"],
    ["server/src/core/state.ts", 'type X = import("../log/key.js").X;', "import log"],
    ["server/src/core/decide/start-run.ts", 'export * from "../apply/tasks.js";', "decide never"],
    ["server/src/core/apply.ts", 'import { x } from "./decide/find.js";', "apply never"],
    ["server/src/log/key.ts", 'import { x } from "../kernel/turn.js";', "import kernel"],
    ["server/src/log/key.ts", 'import { Level } from "level";', "level-store.ts may"],
    ["server/src/kernel/turn.ts", 'import { x } from "../rpc/router.js";', "import rpc"],
    ["server/src/kernel/turn.ts", 'import { x } from "@grpc/grpc-js";', "this package"],
    ["server/src/rpc/router.ts", 'import { x } from "../log/key.js";', "import log"],
    ["server/src/rpc/router.ts", 'import { x } from "../core/apply.js";', "the core's types"],
    ["server/src/rpc/router.ts", 'await import("../core/decide.js");', "the core's types"],
    ["server/src/observe/metrics.ts", 'import { x } from "../kernel/turn.js";', "import kernel"],
    ["server/src/cli/run.ts", 'import { x } from "../kernel/turn.js";', "import kernel"],
    ["sdk/src/client.ts", 'import { x } from "@pawl/server/kernel/turn.js";', "open-kernel.ts may"],
    ["sdk/src/client.ts", 'import { x } from "commander";', "this package"],
    ["proto/wire/reader.ts", 'import "node:buffer";', "pure"],
    ["examples/main.ts", 'import { x } from "@pawl/server/core/state.js";', "import core"],
    ["test/core/a.test.ts", 'import { x } from "../../server/src/core/state.js";', "by its name"],
    ["elsewhere/a.ts", "export {};", "no zone"],
  ])("in %s refuse %s", (path, text, reason) => {
    const violations = findImportViolations(plant(path, text));
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain(path);
    expect(violations[0]).toContain(reason);
  });

  it.each([
    ["server/src/core/decide/start-run.ts", 'import { x } from "../state.js";'],
    ["server/src/core/state.ts", 'import { create } from "@bufbuild/protobuf";'],
    ["server/src/core/event.ts", 'import { x } from "@pawl/proto/log/v1/event_pb.js";'],
    ["server/src/log/level-store.ts", 'import { Level } from "level";'],
    ["server/src/kernel/turn.ts", 'import { x } from "../core/apply.js";'],
    ["server/src/rpc/router.ts", 'import { x } from "../core/state.js";'],
    ["server/src/rpc/router.ts", 'import { sha256 } from "../log/sha256.js";'],
    ["server/src/cli/serve.ts", 'import { x } from "../kernel/turn.js";'],
    ["sdk/src/open-kernel.ts", 'import { x } from "@pawl/server/embed.js";'],
    ["examples/main.ts", 'import { x } from "@pawl/sdk";'],
    ["test/core/a.test.ts", 'import { x } from "@pawl/server/core/state.js";'],
    ["server/src/core/state.ts", '// import("../log/key.js") is what this may not do'],
  ])("in %s allow %s", (path, text) => {
    expect(findImportViolations(plant(path, text))).toEqual([]);
  });

  it("know the zone of each folder", () => {
    expect(zoneOf("server/src/core/decide/start-run.ts")).toBe("core");
    expect(zoneOf("server/src/cli/commands/run.ts")).toBe("cli");
    expect(zoneOf("server/src/embed.ts")).toBe("entry");
    expect(zoneOf("vitest.config.ts")).toBe("tools");
  });
});

describe("the rules on text", () => {
  it.each([
    "export const now: number = Date.now();",
    "export const now: object = new Date();",
    "export const chance: number = Math.random();",
    "setTimeout(() => {}, 1);",
    "export const home: unknown = process.env;",
    "export const bytes: unknown = globalThis.crypto;",
  ])("call %s impure", (text) => {
    expect(findImpurities(plant("server/src/core/a.ts", text)).length).toBeGreaterThan(0);
  });

  it("call a field or a word that only sounds impure pure", () => {
    const text = "export const a: number = x.Date + x.process.id; // Date.now() is not used";
    expect(findImpurities(plant("server/src/core/a.ts", text))).toEqual([]);
  });

  it("count lines to 500", () => {
    const lines = (count: number): SourceFile => plant("a.ts", "//\n".repeat(count));
    expect(findTooLong(lines(500))).toEqual([]);
    expect(findTooLong(lines(501))).toEqual(["a.ts: has 501 lines, more than 500"]);
  });

  it("find leftovers, and only whole words", () => {
    const mark = ["TO", "DO"].join("");
    expect(findLeftovers({ path: "a.md", text: `one\n${mark}: two\n` })).toEqual([
      `a.md:2: has a leftover, ${mark}`,
    ]);
    expect(findLeftovers({ path: "a.md", text: `MAS${mark}NT todo` })).toEqual([]);
    const only = ["it", "only"].join(".");
    expect(findLeftovers({ path: "a.test.ts", text: `${only}("a")` })).toHaveLength(1);
  });

  it("find default exports, but for what a tool demands", () => {
    expect(findDefaultExports(plant("a.ts", "export default 1;"))).toHaveLength(1);
    expect(findDefaultExports(plant("a.ts", "const a = 1; export { a as default };"))).toHaveLength(
      1,
    );
    expect(
      findDefaultExports(plant("a.ts", 'export { a as default } from "./b.js";')),
    ).toHaveLength(1);
    expect(findDefaultExports(plant("vitest.config.ts", "export default 1;"))).toEqual([]);
  });

  it.each([
    "export const a: number = 1;",
    "export function a(): void {}",
    "export class a {}",
    "export interface a {}",
    "export type a = 1;",
    "// a\nexport const a: number = 1;",
    "/* a */\nexport const a: number = 1;",
    "/** */\nexport const a: number = 1;",
    "/** Of b. */\nconst b = 1;\nexport const a: number = b;",
  ])("find no docstring in %s", (text) => {
    expect(findUndocumented(plant("a.ts", text))).toEqual(["a.ts: exports a without a docstring"]);
  });

  it("take one docstring for all overloads, and none for what is only passed on", () => {
    const overloads =
      "/** Says. */\nexport function a(b: 1): void;\nexport function a(b: 2): void;\nexport function a(): void {}";
    expect(findUndocumented(plant("a.ts", overloads))).toEqual([]);
    expect(findUndocumented(plant("a.ts", 'export { a } from "./b.js";'))).toEqual([]);
  });

  it("refuse to call a file clean that does not parse", () => {
    expect(() => plant("a.ts", "export const = ;")).toThrow("expected a.ts to parse");
  });
});
