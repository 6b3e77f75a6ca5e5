/* A worker in a process of its own, which pays at a sink over HTTP: node zombie-worker.ts PORT SINK_URL KIND. It begins to serve when it is told so, by anything on stdin. */
import { once } from "node:events";
import { connect, json, type Lookup, operation, workflow } from "@pawl/sdk";

const [, , port = "0", sinkUrl = "", kind = ""] = process.argv;

async function ask(path: string, key: string): Promise<string> {
  const answer = await fetch(`${sinkUrl}/${path}`, { method: "POST", body: key });
  return answer.text();
}

const spec = {
  payload: json<number>(),
  result: json<string>(),
  callTimeout: "4s",
  call: ({ key }: { readonly key: string }) => ask("pay", key),
} as const;

const pay =
  kind === "idempotent"
    ? operation("pay", { ...spec, sink: { kind: "idempotent", keyWindow: "1d" } })
    : operation("pay", {
        ...spec,
        sink: { kind: "reconcilable", settle: "16s" },
        lookup: async ({ key }): Promise<Lookup<string>> => {
          const found = await ask("find", key);
          return found === "" ? "absent" : { found };
        },
      });

const pays = workflow("pays", {
  version: 1,
  output: json<string>(),
  timeouts: { lease: "2s" },
  retry: { attempts: 10, initial: "100ms", max: "1s" },
}).run((ctx) => ctx.perform(pay, 5, { target: "bank" }));

const client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
process.stdout.write("ready\n");
await once(process.stdin, "data");
await client.worker({ serve: [pays] });
process.stdin.on("end", () => process.exit(0)).resume();
