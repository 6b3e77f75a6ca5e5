/** A text in a JSON document. */
export interface JsonString {
  /** What it says, without escapes. */
  readonly value: string;
  /** Where it begins and ends in the document, its quotes included. */
  readonly start: number;
  readonly end: number;
  /** True for the name of a member. */
  readonly isName: boolean;
  /** Name of the member whose value it is; undefined in an array and at the top. */
  readonly name: string | undefined;
  /** Where it is, for example `$.items[3].token`; of a name, where its object is. */
  readonly path: () => string;
}

interface Level {
  readonly isObject: boolean;
  index: number;
  name: string | undefined;
  /** True when what comes next in an object is a name. */
  isNameNext: boolean;
}

/**
 * Shows every text of a JSON document, in order, until `visit` answers false. It reads the document as it is written: of names that are there twice it shows both, numbers are
 * not read, and what is no JSON is read as far as it looks like it.
 */
export function visitJsonStrings(document: string, visit: (found: JsonString) => boolean): void {
  const levels: Level[] = [];
  for (let at = 0; at < document.length; at++) {
    const level = levels.at(-1);
    switch (document.charCodeAt(at)) {
      case 0x22: {
        const end = endOfString(document, at);
        if (!visit(stringAt(document, { start: at, end }, levels))) {
          return;
        }
        if (level?.isNameNext === true) {
          level.name = textOf(document.slice(at, end));
          level.isNameNext = false;
        }
        at = end - 1;
        break;
      }
      case 0x7b:
        levels.push({ isObject: true, index: 0, name: undefined, isNameNext: true });
        break;
      case 0x5b:
        levels.push({ isObject: false, index: 0, name: undefined, isNameNext: false });
        break;
      case 0x7d:
      case 0x5d:
        levels.pop();
        break;
      case 0x2c:
        if (level !== undefined) {
          level.index++;
          level.isNameNext = level.isObject;
        }
        break;
    }
  }
}

function stringAt(
  document: string,
  { start, end }: { readonly start: number; readonly end: number },
  levels: readonly Level[],
): JsonString {
  const level = levels.at(-1);
  const isName = level?.isNameNext === true;
  return {
    ...{ start, end, isName, value: textOf(document.slice(start, end)) },
    name: isName || level?.isObject !== true ? undefined : level.name,
    path: () => pathOf(isName ? levels.slice(0, -1) : levels),
  };
}

/** Where a text ends that begins at a quote: behind its closing quote, or at the document's end. */
function endOfString(document: string, start: number): number {
  for (let from = start + 1; ; ) {
    const quote = document.indexOf('"', from);
    if (quote < 0) {
      return document.length;
    }
    let slashes = 0;
    while (document.charCodeAt(quote - 1 - slashes) === 0x5c) {
      slashes++;
    }
    if (slashes % 2 === 0 || quote - slashes === start) {
      return quote + 1;
    }
    from = quote + 1;
  }
}

function textOf(quoted: string): string {
  if (!quoted.includes("\\")) {
    return quoted.slice(1, quoted.endsWith('"') && quoted.length > 1 ? -1 : undefined);
  }
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}

function pathOf(levels: readonly Level[]): string {
  let path = "$";
  for (const { isObject, index, name = "" } of levels) {
    if (!isObject) {
      path += `[${index}]`;
    } else {
      path += /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
    }
  }
  return path;
}
