/** Greatest number of arrays and objects inside each other; the kernel's own bound. */
const DEPTH_MAX = 100;

/** Greatest magnitude of a whole number that every reader understands alike. */
const WHOLE_MAX = 2 ** 53;

/** From here on `JSON.stringify` writes an exponent, and the number counts as a decimal. */
const EXPONENT_FROM = 1e21;

/** What cannot be sent, and where. */
export interface JsonFault {
  /** From the root, for example `[".items", "[3]"]` outermost first. */
  readonly path: readonly string[];
  /** What is there, as a phrase. */
  readonly found: string;
}

/**
 * Finds the first thing in a value that JSON would drop, change or refuse: `undefined` in an array, functions, symbols,
 * bigints, NaN and infinities, whole numbers beyond 2^53, lone surrogates, class instances (Date, Map, Buffer), cycles.
 * A property that is `undefined` counts as absent.
 *
 * @returns undefined when the value comes back as it is.
 */
export function findJsonFault(value: unknown): JsonFault | undefined {
  const rising = check(value, 0);
  return rising === undefined ? undefined : { path: rising.path.reverse(), found: rising.found };
}

/** A fault on its way up: innermost segment first. */
interface RisingFault {
  readonly path: string[];
  readonly found: string;
}

function fault(found: string): RisingFault {
  return { path: [], found };
}

function check(value: unknown, depth: number): RisingFault | undefined {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? undefined : fault("a text with half a surrogate pair");
    case "number":
      return checkNumber(value);
    case "boolean":
      return undefined;
    case "object":
      return value === null ? undefined : checkObject(value, depth);
    case "undefined":
      return fault("undefined");
    default:
      return fault(`a ${typeof value}`);
  }
}

function checkNumber(value: number): RisingFault | undefined {
  if (!Number.isFinite(value)) {
    return fault(String(value));
  }
  const magnitude = Math.abs(value);
  const isUnsafe = magnitude > WHOLE_MAX && magnitude < EXPONENT_FROM;
  return isUnsafe ? fault("a whole number beyond 2^53 (send it as a string)") : undefined;
}

function checkObject(value: object, depth: number): RisingFault | undefined {
  if (depth >= DEPTH_MAX) {
    return fault(`a nesting deeper than ${DEPTH_MAX}, or a cycle`);
  }
  if (Array.isArray(value)) {
    return checkArray(value, depth);
  }
  if (!isPlain(value)) {
    return fault(`an instance of ${value.constructor?.name ?? "a class"}`);
  }
  for (const [name, member] of Object.entries(value)) {
    if (!name.isWellFormed()) {
      return fault("a property name with half a surrogate pair");
    }
    const found = member === undefined ? undefined : check(member, depth + 1);
    if (found !== undefined) {
      found.path.push(
        /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name)
          ? `.${name}`
          : `[${JSON.stringify(name)}]`,
      );
      return found;
    }
  }
  return undefined;
}

function checkArray(value: readonly unknown[], depth: number): RisingFault | undefined {
  for (let index = 0; index < value.length; index++) {
    const found = check(value[index], depth + 1);
    if (found !== undefined) {
      found.path.push(`[${index}]`);
      return found;
    }
  }
  return undefined;
}

/** Plain objects have no prototype, or a prototype that has none itself: `Object.prototype` of this or another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
