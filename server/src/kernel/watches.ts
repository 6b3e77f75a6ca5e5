import type { DurableAnswers } from "./durable-answers.js";
import type { KernelApi, Watcher, WatchListener } from "./kernel-api.js";
import type { KernelParts } from "./kernel-parts.js";
import type { Target } from "./outcome.js";
import type { Position } from "./position.js";

type WatchesApi = Pick<KernelApi, "watchRun" | "watchRunFromNow" | "watchRuns" | "watchAll">;

/** From where each kind of watch begins, and what it is to see; the hub does the rest. See `KernelApi`. */
export class Watches implements WatchesApi {
  readonly #parts: Pick<KernelParts, "loop" | "positions" | "watchHub">;
  readonly #answers: DurableAnswers;

  constructor(
    parts: Pick<KernelParts, "loop" | "positions" | "watchHub">,
    answers: DurableAnswers,
  ) {
    this.#parts = parts;
    this.#answers = answers;
  }

  async watchRun(target: Target, position: Uint8Array, listener: WatchListener): Promise<Watcher> {
    const from = await this.#judgePosition(position, { sequence: 0, hash: new Uint8Array(32) });
    const resident = await this.#answers.load(target);
    const filter = { runNumber: resident.number, namespace: resident.run.namespace, workflow: "" };
    return this.#parts.watchHub.watch(filter, from, listener);
  }

  async watchRunFromNow(target: Target, listener: WatchListener): Promise<Watcher> {
    const resident = await this.#answers.load(target);
    const filter = { runNumber: resident.number, namespace: resident.run.namespace, workflow: "" };
    return this.#parts.watchHub.watch(filter, this.#durableHead, listener);
  }

  async watchRuns(
    filter: { readonly namespace: string; readonly workflow: string },
    position: Uint8Array,
    listener: WatchListener,
  ): Promise<Watcher> {
    const from = await this.#judgePosition(position, this.#durableHead);
    return this.#parts.watchHub.watch({ ...filter, runNumber: undefined }, from, listener);
  }

  async watchAll(
    namespace: string,
    position: Uint8Array,
    listener: WatchListener,
  ): Promise<Watcher> {
    const from = await this.#judgePosition(position, this.#durableHead);
    const filter = { namespace, workflow: "", runNumber: undefined, withLedgers: true };
    return this.#parts.watchHub.watch(filter, from, listener);
  }

  get #durableHead(): Position {
    return this.#parts.loop.durableHead;
  }

  async #judgePosition(bytes: Uint8Array, whenEmpty: Position): Promise<Position> {
    return bytes.length === 0 ? whenEmpty : await this.#parts.positions.judge(bytes);
  }
}
