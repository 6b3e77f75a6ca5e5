import { DefinitionInvalid } from "../errors.js";
import type { WorkerOptions } from "../worker-options.js";
import { checkId } from "./ids.js";
import { kindOf } from "./kind-of.js";

/** Most kinds that one worker may serve: the kernel's own bound. */
const SERVES_MAX = 1_000;

/**
 * Checks what a worker is asked to do.
 *
 * @throws DefinitionInvalid
 */
export function checkWorkerOptions({ serve, slots, name, warmBytesMax }: WorkerOptions): void {
  if (serve.length === 0 || serve.length > SERVES_MAX) {
    throw new DefinitionInvalid(
      `Expected a worker to serve 1 to ${SERVES_MAX} tasks, but it is given ${serve.length}. Name what it serves.`,
    );
  }
  const handlers = new Map<string, unknown>();
  const places = new Set<string>();
  for (const served of serve) {
    if (typeof served.handler !== "function") {
      throw new DefinitionInvalid(
        `Expected task "${served.name}" to have a handler, but it is only a reference. Serve task(…).run(handler).`,
      );
    }
    const kind = kindOf(served);
    const place = JSON.stringify([kind, served.schedule.queue ?? kind]);
    const known = handlers.get(kind) ?? served.handler;
    if (places.has(place) || known !== served.handler) {
      throw new DefinitionInvalid(
        `Expected a worker to serve each task once per queue, with one handler, but "${served.name}" is given twice. Remove one.`,
      );
    }
    places.add(place);
    handlers.set(kind, served.handler);
  }
  checkBounds(slots, warmBytesMax);
  if (name !== undefined) {
    checkId(name, "the name of a worker");
  }
}

function checkBounds(slots = 1, warmBytesMax = 0): void {
  if (!(Number.isInteger(slots) && slots >= 1 && slots <= 100_000)) {
    throw new DefinitionInvalid(
      `Expected slots to be a whole number from 1 to 100,000, but it is ${slots}. Choose another one.`,
    );
  }
  if (!(Number.isSafeInteger(warmBytesMax) && warmBytesMax >= 0)) {
    throw new DefinitionInvalid(
      `Expected warmBytesMax to be a whole number of bytes from 0, but it is ${warmBytesMax}. Choose another one.`,
    );
  }
}
