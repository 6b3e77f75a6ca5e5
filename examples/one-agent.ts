/* One process, no server: the kernel is opened like a file. Kill it at any moment and run it again. */
import { mkdir, writeFile } from "node:fs/promises";
import { json, openKernel, operation, plan, task } from "@pawl/sdk";

interface Note {
  readonly text: string;
}

// The effect. The same key writes the same file again, so this sink is idempotent.
const writeNote = operation("notes.write", {
  payload: json<Note>(),
  result: json<{ readonly file: string }>(),
  sink: { kind: "idempotent", keyWindow: "365d" },
  call: async (op) => {
    await mkdir(".pawl-notes", { recursive: true });
    const file = `.pawl-notes/${op.uuid}.txt`;
    await writeFile(file, op.payload.text);
    return { file };
  },
});

const agent = task("agent", { input: json<{ readonly topic: string }>() }).run(
  async (ctx, input) => {
    // Recorded: thought once, whatever crashes.
    const thought = await ctx.step("think", () => `${input.topic}: ${Math.random()}`);
    return ctx.perform(writeNote, { text: thought }, { target: "notes" });
  },
);

await using kernel = await openKernel({ dir: ".pawl-one-agent" });
await kernel.worker({ serve: [agent] });
const tasks = { agent: { task: agent } };
const onePlan = plan("one-agent", { input: json<{ topic: string }>(), tasks, output: "agent" });
const run = await kernel.start(onePlan, { topic: "ratchets" }, { runId: "note-1" });
process.stdout.write(`${run.runId}: ${JSON.stringify(await run.result())}\n`);
