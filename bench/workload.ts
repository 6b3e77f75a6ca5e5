import { randomBytes } from "node:crypto";
import { json, type PlanRef, plan, type Schema, type ServedTask, task } from "@pawl/sdk";

/** The input of every run: 100 bytes, random, so that nothing compresses it away. */
export interface Content {
  readonly content: string;
}

/** Takes what it is given: the bench measures the kernel, not a validator. */
const anyContent: Schema<Content, Content> = json<{ content: string }>();

/** The task that answers what it is given. */
export const echo: ServedTask<Content, Content> = task("bench.echo", {
  input: anyContent,
}).run(async (_ctx, input) => input);

/** Random text to cut contents from: making each anew would measure the generator. */
const pool = randomBytes(64 * 1024).toString("base64url");

/** A random text of 84 characters: with its JSON around it, 100 bytes. */
export function makeContent(): Content {
  const start = Math.floor(Math.random() * (pool.length - 84));
  return { content: pool.slice(start, start + 84) };
}

/** One task. */
export const queuePlan: PlanRef<Content, Content> = plan("bench.queue", {
  input: anyContent,
  tasks: { only: { task: echo } },
  output: "only",
});

/** Three tasks, one after the other. */
export const chainPlan: PlanRef<Content, Content> = plan("bench.chain", {
  input: anyContent,
  tasks: {
    first: { task: echo },
    second: { task: echo, needs: ["first"] },
    third: { task: echo, needs: ["second"] },
  },
  output: "third",
});

/** Tasks side by side, and one that joins them. */
export function fanPlan(width: number): PlanRef<Content, Content> {
  const names = Array.from({ length: width }, (_, index) => `part-${index}`);
  const parts = Object.fromEntries(names.map((name) => [name, { task: echo }]));
  const tasks: Record<string, { task: typeof echo; needs?: string[] }> = {
    ...parts,
    join: { task: echo, needs: names },
  };
  return plan("bench.fan", { input: anyContent, tasks, output: "join" }) as PlanRef<
    Content,
    Content
  >;
}
