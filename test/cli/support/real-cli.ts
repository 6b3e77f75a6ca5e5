import { type Client, connect } from "@pawl/sdk";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { ClockedKernel } from "../../field-reports/support/clocked-kernel.js";
import { type CliEnd, parseLines, runCli } from "./run-cli.js";

/** Commands against a real kernel whose time the test moves, with a client beside it for the work of workers. */
export class RealCli {
  #kernel: ClockedKernel | undefined;
  #client: Client | undefined;

  /** A new one for each test of the file that calls it. */
  static forEachTest(): RealCli {
    const cli = new RealCli();
    beforeEach(() => cli.#open());
    afterEach(() => cli.#close());
    return cli;
  }

  /** One for all tests of the file that calls it, which tell one story. */
  static forTheFile(): RealCli {
    const cli = new RealCli();
    beforeAll(() => cli.#open());
    afterAll(() => cli.#close());
    return cli;
  }

  get kernel(): ClockedKernel {
    if (this.#kernel === undefined) throw new Error("no kernel is open");
    return this.#kernel;
  }

  get client(): Client {
    if (this.#client === undefined) throw new Error("no client is open");
    return this.#client;
  }

  /** Runs a command to its end. */
  pawl(...args: readonly string[]): Promise<CliEnd> {
    const { url, time } = this.kernel;
    const clock = { nowMs: () => time.wallMs(), offsetMinutes: () => 0 };
    return runCli(args, { env: { PAWL_URL: url }, clock });
  }

  /** What a command printed that ended well and complained of nothing. */
  async out(...args: readonly string[]): Promise<string> {
    const end = await this.pawl(...args);
    expect({ ...end, out: "" }).toEqual({ code: 0, out: "", errors: "" });
    return end.out;
  }

  /** The objects that a command printed with `--json`. */
  async json(...args: readonly string[]): Promise<Record<string, unknown>[]> {
    return parseLines(await this.out(...args, "--json")) as Record<string, unknown>[];
  }

  /** How a command was refused: its exit code, its reason, and what it says. */
  async refusal(...args: readonly string[]): Promise<{ code: number; said: string }> {
    const { code, out, errors } = await this.pawl(...args);
    expect(out).toBe("");
    return { code, said: errors };
  }

  /** The same with its times cut to the hour: how long something may take counts from when its worker asked. */
  async outByHour(...args: readonly string[]): Promise<string> {
    return (await this.out(...args)).replaceAll(
      /(\d{4}-\d\d-\d\dT\d\d):\d\d:\d\d\+00:00 \([^)]*\)/g,
      "$1h",
    );
  }

  /** Asks again until the output of a command holds a text; answers it. */
  async until(text: string, ...args: readonly string[]): Promise<string> {
    for (;;) {
      const out = await this.out(...args);
      if (out.includes(text)) return out;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async #open(): Promise<void> {
    this.#kernel = await ClockedKernel.open();
    this.#client = connect({ url: this.#kernel.url, onConnection: () => undefined });
  }

  async #close(): Promise<void> {
    await this.client.close({ drainMs: 0 });
    await this.kernel.close();
    expect(this.kernel.faults).toEqual([]);
  }
}
