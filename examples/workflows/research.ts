/* Five workers search side by side, three answers are enough, one task merges them. Kill it at any moment and run it again. */
import { setTimeout as pause } from "node:timers/promises";
import { isOk, json, openKernel, task, workflow } from "@pawl/sdk";

interface Topic {
  readonly topic: string;
  readonly sources: readonly string[];
}

interface Source {
  readonly topic: string;
  readonly source: string;
}

// A worker that dies is noticed when its lease ends.
const timeouts = { lease: "2s" } as const;

const search = task("search", { input: json<Source>(), timeouts }).run(
  async (_ctx, { topic, source }) => {
    process.stderr.write(`searching ${source}\n`);
    await pause(source.length * 50);
    if (source === "rumours") throw new Error("nothing but rumours");
    return `${source} on ${topic}`;
  },
);

const merge = task("merge", { input: json<readonly string[]>(), timeouts }).run((_ctx, found) =>
  found.toSorted().join("; "),
);

const research = workflow("research", { version: 1, input: json<Topic>(), timeouts }).run(
  async (ctx, { topic, sources }) => {
    const join = { atLeast: 3 };
    const found = await ctx.map("search", sources, { key: (source) => source, join }, (source) =>
      ctx.call(search, { topic, source }, { retry: { attempts: 2, initial: "1s" } }),
    );
    const report = await ctx.call(
      merge,
      found.filter(isOk).map(({ value }) => value),
    );
    // Who came too late was cancelled; who failed is told.
    return { report, became: found.map(({ key, status }) => `${key}: ${status}`) };
  },
);

await using kernel = await openKernel({ dir: ".pawl-research" });
for (const name of ["ada", "ben", "cyd", "dee", "eli"]) {
  await kernel.worker({ serve: [search], slots: 1, name });
}
await kernel.worker({ serve: [research, merge], name: "coordinator" });
const asked = ["web", "news", "rumours", "old papers", "a very slow archive of everything"];
const run = await kernel.start(
  research,
  { topic: "ratchets", sources: asked },
  { runId: "research-1" },
);
process.stdout.write(`${JSON.stringify(await run.result())}\n`);
