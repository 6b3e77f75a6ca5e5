import { type Lookup, NotSent, type OperationCall, Refused } from "@pawl/sdk";
import type { Mishap } from "./programs.js";

type Act = OperationCall<{ readonly id: string; readonly mishap: Mishap }>;

/** What is outside of the kernel and of every process: what was done there stays done, whatever crashes. */
export class World {
  /** Effects by operation key. */
  readonly effects: Map<string, number> = new Map();
  readonly #results = new Map<string, string>();
  readonly #calls = new Map<string, number>();
  readonly #pace: readonly number[];
  #paused = 0;
  #drawn = 0;

  constructor(pace: readonly number[]) {
    this.#pace = pace;
  }

  /** Another value each time. */
  draw(): number {
    return ++this.#drawn;
  }

  /** Takes some turns of the event loop. */
  async pause(): Promise<void> {
    const turns = this.#pace[this.#paused++ % this.#pace.length] ?? 0;
    for (let turn = 0; turn < turns; turn++) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  /** Has an effect, or not. */
  async act({ key, payload }: Act, honoursKeys: boolean): Promise<string> {
    await this.pause();
    const { id, mishap } = payload;
    const calls = (this.#calls.get(key) ?? 0) + 1;
    this.#calls.set(key, calls);
    if (mishap === "refused") throw new Refused(`no to ${id}`);
    if (mishap === "not-sent" && calls === 1) throw new NotSent("the line was busy");
    const before = this.effects.get(key) ?? 0;
    if (before === 0 || !honoursKeys) this.effects.set(key, before + 1);
    this.#results.set(key, `did ${id}`);
    if (mishap === "answer-lost" && calls === 1) throw new Error("the answer was lost");
    return `did ${id}`;
  }

  /** Says whether an effect was had. */
  async find({ key, payload }: Act): Promise<Lookup<string>> {
    await this.pause();
    return this.effects.has(key) ? { found: `did ${payload.id}` } : "absent";
  }

  /** What a person says who looks at the books. */
  resultOf(key: string): string | undefined {
    return this.#results.get(key);
  }
}
