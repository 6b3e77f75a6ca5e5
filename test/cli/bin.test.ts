import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

// Needs the build that `npm test` makes first.
describe("npx --no pawl, in the repository", () => {
  it("runs the built command", async () => {
    const { stdout, stderr } = await promisify(execFile)(
      "npx",
      ["--no", "pawl", "run", "start", "--help"],
      {
        cwd: root,
      },
    );
    expect(stderr).toBe("");
    expect(stdout).toContain("--plan <file>");
  });

  it("hands on the exit code, and arguments that begin with a dash", async () => {
    const args = ["--no", "pawl", "why", "--url", "http://127.0.0.1:1", "--", "-x"];
    const failed = promisify(execFile)("npx", args, { cwd: root });
    await expect(failed).rejects.toMatchObject({ code: 69, stdout: "" });
    await expect(failed).rejects.toThrow(
      "Expected a kernel at http://127.0.0.1:1, but nothing listens there.",
    );
  });
});
