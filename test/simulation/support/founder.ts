import { localCaller } from "@pawl/server/core/caller.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import type { KernelApi } from "@pawl/server/kernel/kernel-api.js";
import { Caller, type World } from "./caller.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";

/** What a founder is made of. */
export interface FounderParts {
  readonly world: World;
  readonly process: Process;
  readonly prng: Prng;
  /** True once everything is left to heal: then it founds nothing more. */
  readonly isOver: () => boolean;
}

/** Mean time between two namespaces, in ms. */
const foundEveryMs = 4_000;

/** Creates namespaces, and asks every kernel that it reaches for all that it was told there are. */
export class Founder extends Caller {
  /** Those that it was told are created, in order. */
  readonly founded: string[] = [];
  readonly #parts: FounderParts;

  constructor(parts: FounderParts) {
    super(parts.world, parts.process);
    this.#parts = parts;
  }

  /** Begins to found, again and again. */
  begin(): void {
    this.process.begin();
    this.#work().catch((error: unknown) => {
      this.world.complain(`the founder fails: ${String(error)}`);
    });
  }

  /** Complains of what is not there, or in another order, though it was said to be. */
  async check(kernel: Kernel): Promise<void> {
    const names = (await kernel.listNamespaces(0)).map(({ namespace }) => namespace);
    const known = names.filter((name) => this.founded.includes(name));
    if (names[0] !== "default" || known.join() !== this.founded.join()) {
      this.world.complain(`namespaces ${this.founded} were created, but there are ${names}`);
    }
  }

  async #work(): Promise<void> {
    const { prng, isOver } = this.#parts;
    for (let number = 1; ; number++) {
      await this.process.wait(prng.around(foundEveryMs));
      if (isOver()) {
        return;
      }
      const name = `n${number}`;
      await this.call<string>(`for namespace ${name}`, (reply) => {
        this.world.host.deliver((kernel) => {
          this.#requireKnown(kernel);
          kernel.createNamespace(name, localCaller).then(
            ({ entry }) => reply(entry.namespace),
            (error: unknown) => this.world.note(`${name} is not created: ${String(error)}`),
          );
        });
      });
      this.founded.push(name);
    }
  }

  #requireKnown(kernel: KernelApi): void {
    for (const name of this.founded) {
      if (!kernel.hasNamespace(name)) {
        this.world.complain(`namespace ${name} was created, but is not known`);
      }
    }
  }
}
