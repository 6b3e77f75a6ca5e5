import { type Client, connect, type RunEvent } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeKernel } from "./support/fake-kernel.js";
import { jsonPayload } from "./support/payloads.js";

let kernel: FakeKernel;
let client: Client;

beforeEach(async () => {
  kernel = await FakeKernel.start();
  client = connect({ url: kernel.url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  kernel.kill();
});

const position = (number: number): Uint8Array => new Uint8Array([9, number]);
const bytes = (value: Uint8Array): number[] => [...value];

test("gives each event once, goes on from the last position after a lost stream, and ends with the run", async () => {
  const seen: RunEvent[] = [];
  const watching = (async () => {
    for await (const event of client.run("r").watch()) seen.push(event);
  })();
  const first = await kernel.nextWatch();
  expect((await first.next()).position).toHaveLength(0);
  const started = {
    sequence: 2n ** 60n,
    number: 1,
    type: "RunStarted",
    payload: jsonPayload('{"a":1}'),
  };
  first.send({
    events: [started, { sequence: 2n ** 60n + 1n, number: 2, type: "TaskLeased" }],
    position: position(1),
  });
  await expect.poll(() => seen).toHaveLength(2);
  first.fail();
  const second = await kernel.nextWatch();
  expect(bytes((await second.next()).position)).toEqual([9, 1]);
  second.send({ events: [{ number: 3, type: "RunClosed" }], position: position(2), closed: true });
  second.end();
  await watching;
  expect(seen.map((event) => event.number)).toEqual([1, 2, 3]);
  expect(seen[0]).toMatchObject({
    sequence: "1152921504606846976",
    value: { a: 1 },
    position: undefined,
  });
  expect(seen[1]?.position).toBe(Buffer.from(position(1)).toString("base64url"));
});

test("watches on from a position that an event had", async () => {
  const after = Buffer.from(position(7)).toString("base64url");
  const watching = client.run("r").watch({ after })[Symbol.asyncIterator]().next();
  const watch = await kernel.nextWatch();
  expect(bytes((await watch.next()).position)).toEqual([9, 7]);
  watch.send({ events: [{ number: 8, type: "X" }], position: position(8), closed: true });
  expect((await watching).value).toMatchObject({ number: 8 });
});

test("a position that is none is refused", async () => {
  const watching = client
    .run("r")
    .watch({ after: "not a position" })
    [Symbol.asyncIterator]()
    .next();
  await expect(watching).rejects.toMatchObject({ code: "PAWL_DEFINITION_INVALID" });
});

test("ends when its signal aborts", async () => {
  const abort = new AbortController();
  const watching = client.run("r").watch({ signal: abort.signal })[Symbol.asyncIterator]().next();
  await kernel.nextWatch();
  abort.abort(new Error("enough"));
  await expect(watching).rejects.toThrow("enough");
});
