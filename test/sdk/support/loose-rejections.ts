import { openKernel, workflow } from "@pawl/sdk";

/** Ends when something of its own is rejected unheard, as any program does; a function of its worker does not end it. */
const [dir = "", whose] = process.argv.slice(2);

const branches = workflow("branches", { version: 1 }).run(async (ctx) => {
  const own = (async () => {
    await ctx.step("quick", () => 1);
    throw new Error("the branch failed");
  })();
  const derived = ctx
    .step("broken", () => {
      throw new Error("the step failed");
    })
    .then(() => "went on");
  await ctx.sleep("meanwhile", "200ms");
  const said = async (branch: Promise<unknown>): Promise<string> =>
    branch.then(String, (error: Error) => error.message);
  return [await said(own), await said(derived)];
});

const kernel = await openKernel({ dir });
await kernel.worker({ serve: [branches] });
if (whose === "program") void Promise.reject(new Error("of the program"));
const run = await kernel.start(branches, undefined, { runId: "r" });
process.stdout.write(`${JSON.stringify(await run.result({ timeout: "20s" }))}\n`);
await kernel.close();
void Promise.reject(new Error("after the worker"));
