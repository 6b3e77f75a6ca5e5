import { type Client, connect, json, plan, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Processes } from "./support/processes.js";

let processes: Processes;
let clients: Client[];

beforeEach(() => {
  processes = new Processes();
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close({ drainMs: 0 })));
  await processes.end();
});

function connected(url: string): Client {
  const client = connect({ url, onConnection: () => undefined });
  clients.push(client);
  return client;
}

describe("a kernel that comes and goes on one port", () => {
  const echo = task("echo", { input: json<string>(), output: json<string>() });
  const chain = plan("chain", {
    input: json<string>(),
    tasks: {
      one: { task: echo },
      two: { task: echo, needs: ["one"] },
      three: { task: echo, needs: ["two"] },
    },
    output: "three",
  });

  test.each(["SIGTERM", "SIGKILL"] as const)(
    "by %s costs no client a call, idle or amid one, and no event is lost or told twice",
    async (signal) => {
      let kernel = await processes.kernel();
      const client = connected(kernel.url);
      const idle = connected(kernel.url);
      await idle.api.admin.getServerInfo({});
      await connected(kernel.url).worker({ serve: [echo.run((_ctx, text) => text)], slots: 4 });
      const results: Promise<string>[] = [];
      const watches: Promise<number[]>[] = [];

      for (let round = 0; round < 2; round++) {
        for (let number = 0; number < 10; number++) {
          const text = `${round}-${number}`;
          const starting = client.start(chain, text, { runId: `run-${text}` });
          results.push(starting.then((started) => started.result()));
          watches.push(
            starting.then(async (started) => {
              const numbers: number[] = [];
              for await (const event of started.watch()) numbers.push(event.number);
              return numbers;
            }),
          );
        }
        kernel.child.kill(signal);
        const { code } = await kernel.end;
        expect(code).toBe(signal === "SIGTERM" ? 0 : null);
        kernel = await processes.kernel(kernel.port);
      }

      expect(await Promise.all(results)).toEqual(
        [0, 1].flatMap((round) => Array.from({ length: 10 }, (_, n) => `${round}-${n}`)),
      );
      for (const numbers of await Promise.all(watches)) {
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
        expect(numbers.length).toBeGreaterThan(6);
      }
      const run = await idle.start(echo, "idle all the time");
      expect(await run.result()).toBe("idle all the time");
    },
  );
});
