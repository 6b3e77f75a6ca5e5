import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { type CliEnd, runCli } from "./run-cli.js";
import { type Script, type ScriptedKernel, startScriptedKernel } from "./scripted-kernel.js";

/** Commands in a folder of their own, against a kernel that answers as each test wrote down. */
export class ScriptedCli {
  private started: ScriptedKernel | undefined;
  private made = "";

  /** For all tests of the file that calls it. */
  static forEachTest(): ScriptedCli {
    const cli = new ScriptedCli();
    beforeEach(() => cli.makeFolder());
    afterEach(() => cli.close());
    return cli;
  }

  /** Where the commands run; removed afterwards. */
  get folder(): string {
    return this.made;
  }

  /** The kernel of the present test. */
  get kernel(): ScriptedKernel {
    if (this.started === undefined) {
      throw new Error("no kernel is scripted");
    }
    return this.started;
  }

  /** Starts the kernel. */
  async script(script: Script): Promise<void> {
    this.started = await startScriptedKernel(script);
  }

  /** Runs a command against it. */
  run(...args: string[]): Promise<CliEnd> {
    return runCli(args, { cwd: this.folder, env: { PAWL_URL: this.kernel.url } });
  }

  private async makeFolder(): Promise<void> {
    this.made = await mkdtemp(join(tmpdir(), "pawl-cli-"));
  }

  private async close(): Promise<void> {
    await this.started?.close();
    this.started = undefined;
    await rm(this.made, { recursive: true });
  }
}
