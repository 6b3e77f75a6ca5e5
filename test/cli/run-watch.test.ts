import { Code } from "@connectrpc/connect";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { WatchRunRequest } from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, it } from "vitest";
import { parseLines, runCli } from "./support/run-cli.js";
import { sampleEvent, sampleRun } from "./support/samples.js";
import { ScriptedCli } from "./support/scripted-cli.js";
import { refusal, type Script } from "./support/scripted-kernel.js";

const cli = ScriptedCli.forEachTest();
const scripted = (runs: NonNullable<Script["runs"]>): Promise<void> => cli.script({ runs });
const run: typeof cli.run = (...args) => cli.run(...args);

describe("pawl run watch", () => {
  it("goes on where it was when the stream breaks, and ends with the run", async () => {
    const asked: WatchRunRequest[] = [];
    await scripted({
      async *watchRun(request) {
        asked.push(request);
        if (asked.length === 1) {
          yield {
            events: [sampleEvent({ number: 1, type: "RunStarted", task: "", attempt: 0 })],
            position: Uint8Array.of(7),
          };
          throw refusal(
            Code.Unavailable,
            "PAWL_UNAVAILABLE",
            "Expected a kernel that takes requests, but it goes away.",
          );
        }
        yield { events: [sampleEvent()], position: Uint8Array.of(8) };
        yield { events: [], position: Uint8Array.of(9), closed: true };
      },
      getRun: () => ({
        run: sampleRun({ status: RunStatus.COMPLETED, why: "It completed after 65 s" }),
      }),
    });
    const end = await run("run", "watch", "order-7");
    expect(end.code).toBe(0);
    expect(end.errors).toBe(
      "The stream ended; going on where it was as soon as the kernel answers.\n",
    );
    expect(end.out.split("\n").slice(0, 5)).toEqual([
      "    1  2026-03-01T12:59:00+01:00  RunStarted",
      "    2  2026-03-01T12:59:00+01:00  TaskLeased            task pay; attempt 1",
      "",
      'Run order-7 of workflow "refund" is COMPLETED.',
      "It completed after 65 s.",
    ]);
    expect(asked.map(({ position }) => [...position])).toEqual([[], [7]]);
  });

  it("goes on when the connection is cut, without a word of the kernel", async () => {
    let streams = 0;
    await scripted({
      async *watchRun() {
        streams += 1;
        if (streams === 1) {
          yield { events: [sampleEvent()], position: Uint8Array.of(7) };
          setImmediate(() => cli.kernel.cut());
          await new Promise(() => {});
        }
        yield { position: Uint8Array.of(8), closed: true };
      },
    });
    const end = await run("run", "watch", "order-7", "--json");
    expect(end.code).toBe(0);
    expect(parseLines(end.out)).toMatchObject([
      { position: "Bw==", closed: false, events: [{ sequence: "9007199254740993", number: 2 }] },
      { position: "CA==", closed: true },
    ]);
  });
});

describe("pawl run watch, from a position", () => {
  it("takes up the position that an earlier line gave", async () => {
    const asked: WatchRunRequest[] = [];
    await scripted({
      async *watchRun(request) {
        asked.push(request);
        yield { closed: true };
      },
    });
    expect((await run("run", "watch", "order-7", "--after", "Bw==", "--json")).code).toBe(0);
    expect([...(asked[0]?.position ?? [])]).toEqual([7]);
    expect((await run("run", "watch", "order-7", "--after", "Bw", "--json")).code).toBe(2);
  });

  it("does not go on after a refusal", async () => {
    let streams = 0;
    await scripted({
      // biome-ignore lint/correctness/useYield: it is refused before anything is sent.
      async *watchRun() {
        streams += 1;
        throw refusal(
          Code.OutOfRange,
          "PAWL_POSITION_TRIMMED",
          "Expected a position that is kept, but it is older.",
        );
      },
    });
    const end = await run("run", "watch", "order-7");
    expect([end.code, streams]).toEqual([1, 1]);
    expect(end.errors).toContain("PAWL_POSITION_TRIMMED");
  });
});

describe("pawl run history", () => {
  it("prints one event a line, 64-bit numbers as strings", async () => {
    await scripted({
      async *getHistory({ fromNumber }) {
        yield { events: [sampleEvent({ number: fromNumber })] };
        yield { events: [sampleEvent({ number: fromNumber + 1, detail: "by a late report" })] };
      },
    });
    const end = await run("run", "history", "order-7", "--from", "4", "--json");
    expect(parseLines(end.out)).toMatchObject([
      { number: 4, sequence: "9007199254740993", type: "TaskLeased" },
      { number: 5, detail: "by a late report" },
    ]);
  });

  it.each([
    [[], "only --json has them"],
    [["--json", "--from", "4"], "with --from 4 its first are left out"],
  ])(
    "with --stored and %j is told what pawl replay reads, and asks for nothing",
    async (args, why) => {
      const end = await runCli(["run", "history", "order-7", "--stored", ...args]);
      expect([end.code, end.out]).toEqual([2, ""]);
      expect(end.errors).toContain(`all of it, but ${why}.`);
      expect(end.errors).toContain("npx --no pawl run history order-7 --json --stored");
    },
  );
});
