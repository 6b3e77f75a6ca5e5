import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { isCode, listTextFiles, REPOSITORY } from "../tidy/source-file.js";
import { userPages } from "./support/pages.js";
import {
  isExcerpt,
  isSignature,
  makeProject,
  type Project,
  readSnippets,
  writeSnippet,
} from "./support/snippets.js";

const examples = listTextFiles((path) => path.startsWith("examples/") && isCode(path));
const all = userPages.flatMap(readSnippets);

/** What stands in an example line for line is compiled there. */
const snippets = all.filter(({ text }) => !examples.some((file) => isExcerpt(text, file.text)));
const projects: Project[] = [];

afterEach(() => {
  for (const project of projects.splice(0)) project.remove();
});

function newProject(): Project {
  const project = makeProject();
  projects.push(project);
  return project;
}

/** What the compiler says of the sources in a project, by the settings of the repository. */
function compile(project: Project): string {
  const settings = {
    extends: join(REPOSITORY, "tsconfig.base.json"),
    compilerOptions: {
      noEmit: true,
      composite: false,
      declaration: false,
      declarationMap: false,
      isolatedDeclarations: false,
      // A snippet may show a value that it does nothing with.
      noUnusedLocals: false,
      customConditions: ["pawl-source"],
      lib: ["ES2023", "ES2024.String"],
      types: ["node"],
    },
    include: ["**/*.ts", join(REPOSITORY, "sdk/src/headers-init.d.ts")],
  };
  project.write("tsconfig.json", JSON.stringify(settings));
  const compiler = join(REPOSITORY, "node_modules/typescript/bin/tsc");
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, "--pretty", "false"], {
    cwd: project.path,
    encoding: "utf8",
  });
  return status === 0 ? "" : stdout + stderr;
}

describe("the TypeScript of the documentation", () => {
  it("is there", () => {
    expect(snippets.filter(({ isFragment }) => !isFragment).length).toBeGreaterThan(8);
    expect(all.length).toBeGreaterThan(snippets.length);
  });

  it("compiles against the SDK as it is", () => {
    const project = newProject();
    for (const snippet of snippets) {
      if (!snippet.isFragment) writeSnippet(project, snippet);
    }
    expect(compile(project)).toBe("");
  });

  it("has one file of a name on each page", () => {
    const paths = snippets.map(({ path }) => path);
    expect(paths.filter((path, index) => paths.indexOf(path) !== index)).toEqual([]);
  });

  it("is left out only where it is a signature", () => {
    const fragments = snippets.filter(({ isFragment }) => isFragment);
    expect(fragments.filter(({ text }) => !isSignature(text))).toEqual([]);
  });
});

describe("the check of snippets", () => {
  it("names page and line of what does not compile", () => {
    const project = newProject();
    const text = 'Text.\n\n```ts\nimport { task } from "@pawl/sdk";\ntask(7);\n```\n';
    for (const snippet of readSnippets({ path: "docs/x.md", text })) writeSnippet(project, snippet);
    expect(compile(project)).toMatch(/^docs\/x\/block-1\.ts\(5,6\): error TS/);
  });

  it.each([
    ["b();\nc();", true],
    ["b();\n\nc();", false],
    ["b();\nd();", false],
    ["()", false],
    ["", false],
  ])("takes %j for an excerpt of three lines: %s", (text, expected) => {
    expect(isExcerpt(text, "a();\nb();\nc();\n")).toBe(expected);
  });

  it.each([
    ["interface A { b(c: string): void }", true],
    ["declare function f(): void;\nexport type T = string;", true],
    ["f();", false],
    ["const a = 1;", false],
    ["not a program", false],
  ])("takes %s for a signature: %s", (code, expected) => {
    expect(isSignature(code)).toBe(expected);
  });
});
