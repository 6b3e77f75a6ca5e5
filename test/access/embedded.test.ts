import { openKernel, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { runCli } from "../cli/support/run-cli.js";
import { temporaryFolder } from "./support.js";

const echo = task<string, string>("echo").run((_ctx, text) => text);

test("a kernel inside a process asks it for no token, also in a folder that has some", async () => {
  const folder = await temporaryFolder();
  const args = ["token", "create", "--dir", ".", "--name", "x", "--role", "client"];
  expect((await runCli(args, { cwd: folder })).code).toBe(0);
  await using kernel = await openKernel({ dir: folder });
  await kernel.worker({ serve: [echo] });
  expect(await kernel.execute(echo, "hello", { runId: "r", timeout: "20s" })).toBe("hello");
  for await (const { events } of kernel.api.runs.getHistory({ runId: "r" })) {
    expect(events[0]).toMatchObject({ principal: "local" });
  }
});
