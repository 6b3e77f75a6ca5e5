/*
 * A worker in a process of its own that serves a function with three effects and their rollbacks, and kills itself at the moment that the environment names. Its sink is a file: a line
 * for each effect.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { connect, Fatal, json, operation, workflow } from "@pawl/sdk";

const [, , port = "0", file = ""] = process.argv;
const { PAWL_TEST_DIE_AT: dieAt = "" } = process.env;

/** Ends the process by SIGKILL at this moment, when it is the chosen one. */
function passes(moment: string): void {
  if (moment === dieAt) process.kill(process.pid, "SIGKILL");
}

const effect = (name: string) =>
  operation(name, {
    payload: json<string>(),
    result: json<string>(),
    callTimeout: "500ms",
    sink: { kind: "reconcilable", settle: "0s" },
    call: ({ key, payload }) => {
      passes(`before ${name} ${payload}`);
      appendFileSync(file, `${key} ${name} ${payload}\n`);
      passes(`after ${name} ${payload}`);
      return payload;
    },
    lookup: ({ key, payload }) =>
      readFileSync(file, "utf8").includes(`${key} `) ? { found: payload } : "absent",
  });

const hold = effect("hold");
const release = effect("release");

const trip = workflow("trip", { version: 1 }).run(async (ctx) => {
  for (const seat of ["1a", "2b", "3c"]) {
    const options = { target: "airline", key: seat } as const;
    await ctx.perform(hold, seat, options);
    ctx.onRollback(release, seat, options);
    passes(`declared ${seat}`);
  }
  await ctx.step("last", () => "done");
  passes("at the end");
  throw new Fatal("no hotel");
});

const client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
await client.worker({ serve: [trip] });
process.stdout.write("serves\n");
process.stdin.on("end", () => process.exit(0)).resume();
