/* A nightly batch: it waits for its hour, bills each account once, twenty at a time, and reports. Kill it at any moment and run it again. */
import { appendFile, readFile } from "node:fs/promises";
import { Fatal, isOk, json, openKernel, operation, task, workflow } from "@pawl/sdk";

const books = ".pawl-nightly-bills.txt";

// The effect. Nobody may bill twice, and the books cannot tell a repeat: so they are asked before a call is made again.
const bill = operation("books.bill", {
  payload: json<{ readonly account: string; readonly cents: number }>(),
  result: json<{ readonly cents: number }>(),
  sink: { kind: "reconcilable", settle: "1s" },
  call: async ({ key, payload: { account, cents } }) => {
    await appendFile(books, `${key} ${account} ${cents}\n`);
    return { cents };
  },
  lookup: async ({ key, payload: { cents } }) =>
    (await readFile(books, "utf8")).includes(`${key} `) ? { found: { cents } } : "absent",
});

const billAccount = task("account.bill", {
  input: json<{ readonly account: string; readonly night: string }>(),
  retry: { attempts: 3, initial: "100ms" },
  timeouts: { lease: "2s" },
}).run(async (ctx, { account, night }) => {
  if (account.endsWith("13")) throw new Fatal(`${account} is closed.`);
  const cents = await ctx.step("rate", () => account.length * 100);
  // The night is in the key: whatever else bills this account tonight finds that it was done.
  const once = { scope: "namespace", key: `${account}/${night}`, target: account } as const;
  return (await ctx.perform(bill, { account, cents }, once)).cents;
});

const nightly = workflow("nightly", {
  version: 1,
  input: json<{ readonly night: string }>(),
  timeouts: { lease: "2s" }, // A worker that dies is noticed when its lease ends.
}).run(async (ctx, { night }) => {
  await ctx.sleepUntil("hour", new Date(`${night}T02:00:00Z`)); // Holds no worker and no memory.
  const accounts = await ctx.read("accounts", () =>
    Array.from({ length: 100 }, (_, n) => `account-${n + 1}`),
  );
  const options = { key: (account: string) => account, concurrency: 20 };
  const billed = await ctx.map("accounts", accounts, options, (account) =>
    ctx.call(billAccount, { account, night }),
  );
  const cents = billed.filter(isOk).reduce((sum, { value }) => sum + value, 0);
  const failed = billed.filter((item) => !isOk(item)).map(({ key }) => key);
  return { billed: billed.length - failed.length, cents, failed };
});

await using kernel = await openKernel({ dir: ".pawl-nightly" });
await kernel.worker({ serve: [nightly, billAccount] });
const day = process.argv[2] ?? "2025-01-31"; // A night to come is waited for.
const run = await kernel.start(nightly, { night: day }, { runId: `night-${day}` });
process.stdout.write(`${JSON.stringify(await run.result())}\n`);
