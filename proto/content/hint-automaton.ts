/** Codes that an automaton tells apart: one byte. All beyond count as one that is in no hint. */
const codes = 256;

/** Which codes may stand at one place of a hint. */
type Place = ReadonlySet<number>;

/**
 * One look at a text for many hints at once: a table that is asked once for each character, whatever it holds. A hint is a literal with classes, `[a-z_]`, and counts of them, `{8}`;
 * behind `(?i)` letters count in both cases.
 */
export class HintAutomaton {
  /** Next state by state and class of code; state 0 is the beginning, the accepting one is `accept`. */
  readonly #table: Uint16Array;
  readonly #classOf: Uint8Array = new Uint8Array(codes + 1);
  readonly #shift: number;
  readonly #accept: number;

  constructor(hints: readonly string[]) {
    const sequences = hints.map(parseHint);
    const samples = this.#classify(sequences);
    this.#shift = Math.ceil(Math.log2(Math.max(2, samples.length)));
    const states = [[] as (readonly [number, number])[]];
    const numbers = new Map<string, number>([["", 0]]);
    const rows: number[][] = [];
    const beginnings = samples.map((code) =>
      sequences.flatMap(([first], hint) => (first?.has(code) === true ? [hint] : [])),
    );
    for (let state = 0; state < states.length; state++) {
      const row: number[] = [];
      for (const [index, code] of samples.entries()) {
        const next = step(sequences, states[state] ?? [], code, beginnings[index] ?? []);
        if (next === undefined) {
          row.push(-1);
          continue;
        }
        const key = next.join(" ");
        let number = numbers.get(key);
        if (number === undefined) {
          number = states.push(next) - 1;
          numbers.set(key, number);
        }
        row.push(number);
      }
      rows.push(row);
    }
    this.#accept = states.length;
    this.#table = new Uint16Array(states.length << this.#shift);
    rows.forEach((row, state) => {
      row.forEach((next, index) => {
        this.#table[(state << this.#shift) + index] = next < 0 ? this.#accept : next;
      });
    });
  }

  /** True when any of the hints is in the text. */
  isInText(text: string): boolean {
    const table = this.#table;
    const classOf = this.#classOf;
    const shift = this.#shift;
    const accept = this.#accept;
    let state = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      state = table[(state << shift) + (classOf[Math.min(code, codes)] ?? 0)] ?? 0;
      if (state === accept) {
        return true;
      }
    }
    return false;
  }

  /** The same for bytes of UTF-8, or of a message that holds it. */
  isInBytes(bytes: Uint8Array): boolean {
    const table = this.#table;
    const classOf = this.#classOf;
    const shift = this.#shift;
    const accept = this.#accept;
    let state = 0;
    for (let at = 0; at < bytes.length; at++) {
      const code = bytes[at] ?? 0;
      state = table[(state << shift) + (classOf[code] ?? 0)] ?? 0;
      if (state === accept) {
        return true;
      }
    }
    return false;
  }

  /** Codes that no hint tells apart share a class. Answers one code of each class. */
  #classify(sequences: readonly (readonly Place[])[]): number[] {
    const places = [...new Set(sequences.flat())];
    const classes = new Map<string, number>();
    const samples: number[] = [];
    for (let code = 0; code <= codes; code++) {
      const key = places.map((place) => (place.has(code) ? "1" : "0")).join("");
      let number = classes.get(key);
      if (number === undefined) {
        number = samples.push(code) - 1;
        classes.set(key, number);
      }
      this.#classOf[code] = number;
    }
    return samples;
  }
}

/** Where in which hints a text stands after one more code; undefined when one of them is complete. */
function step(
  sequences: readonly (readonly Place[])[],
  state: readonly (readonly [number, number])[],
  code: number,
  beginning: readonly number[],
): (readonly [number, number])[] | undefined {
  const next: (readonly [number, number])[] = [];
  for (const [hint, place] of state) {
    const sequence = sequences[hint] ?? [];
    if (sequence[place]?.has(code) === true) {
      if (place + 1 === sequence.length) {
        return undefined;
      }
      next.push([hint, place + 1]);
    }
  }
  for (const hint of beginning) {
    next.push([hint, 1]);
  }
  return next.sort(([hintA, placeA], [hintB, placeB]) => hintA - hintB || placeA - placeB);
}

/** Reads a hint. @throws TypeError when it is none. */
function parseHint(hint: string): Place[] {
  const isFolded = hint.startsWith("(?i)");
  const places: Place[] = [];
  const parts = /\[([^\]]+)\]|\{(\d+)\}|([^[{])/gy;
  parts.lastIndex = isFolded ? 4 : 0;
  for (let at = parts.lastIndex; at < hint.length; at = parts.lastIndex) {
    const [, set, count, literal = ""] = parts.exec(hint) ?? [];
    const last = places.at(-1);
    if (count !== undefined && last !== undefined) {
      places.push(...Array.from({ length: Number(count) - 1 }, () => last));
    } else if (set !== undefined || literal !== "") {
      places.push(set === undefined ? placeOf(literal, isFolded) : placeOf(set, isFolded));
    } else {
      throw new TypeError(`Expected a hint, but "${hint}" is none at ${at}.`);
    }
  }
  return places;
}

function placeOf(members: string, isFolded: boolean): Place {
  const found = new Set<number>();
  for (let at = 0; at < members.length; at++) {
    const from = members.charCodeAt(at);
    const isRange = members[at + 1] === "-" && at + 2 < members.length;
    const to = isRange ? members.charCodeAt(at + 2) : from;
    at += isRange ? 2 : 0;
    for (let code = from; code <= to; code++) {
      const letter = String.fromCharCode(code);
      found.add(code);
      if (isFolded) {
        found.add(letter.toLowerCase().charCodeAt(0)).add(letter.toUpperCase().charCodeAt(0));
      }
    }
  }
  return found;
}
