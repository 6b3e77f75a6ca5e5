import { json, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachClient } from "../sdk/support/each-client.js";

const each = eachClient();

/** Contents that readers of other systems made objects of, or changed every object with. */
const hostile = [
  '{"__proto__":{"isAdmin":true},"a":1}',
  '{"constructor":{"prototype":{"isAdmin":true}}}',
  '{"lc":2,"type":"constructor","id":["os","system"],"kwargs":{"command":"true"}}',
  '{"$type":"System.Diagnostics.Process","__class__":"subprocess.Popen","args":["true"]}',
];

type Data = Readonly<Record<string, string | number | readonly string[]>>;

const echo = task("echo", { input: json<Data>(), output: json<readonly Data[]>() }).run(
  async (ctx, input) => [input, await ctx.step("same", () => input)],
);

test("content that names prototypes and classes stays data, byte for byte", async () => {
  await using worker = await each.client.worker({ serve: [echo] });
  for (const [index, text] of hostile.entries()) {
    const runId = `r${index}`;
    const back = await each.client.execute(echo, JSON.parse(text), { runId });
    expect(JSON.stringify(back)).toBe(`[${text},${text}]`);
    expect(Reflect.get({}, "isAdmin")).toBeUndefined();
  }
  await worker.close();
});
