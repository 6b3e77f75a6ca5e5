import { type CredentialRule, textRules } from "./credential-rules.js";
import { HintAutomaton } from "./hint-automaton.js";
import { type JsonString, visitJsonStrings } from "./json-strings.js";
import { isSecretOfName } from "./secret-values.js";

/** A credential that was found. It holds nothing of it. */
export interface FoundCredential {
  /** Name of the rule that found it. */
  readonly rule: string;
  /** Where it is in a JSON document, for example `$.config.api_key`; `$` for a text. */
  readonly path: string;
}

/** Rule of a value that is as random as a secret, in a field whose name says that it is one. */
export const namedSecretRule = "named-secret";

/** Names of fields that are none of a rule's own, and escapes that could hide anything. */
const otherHints = ["(?i)credential", "(?i)authorization", '(?i)pass"', "\\u00", ":\\/\\/"];

/** Finds credentials by rules. It keeps nothing of what it reads. */
export class CredentialDetector {
  readonly #rules: readonly CredentialRule[];
  readonly #hints: HintAutomaton;

  /** @param rules those that judge a text by itself; names of fields are judged besides. Default: all. */
  constructor(rules: readonly CredentialRule[] = textRules) {
    this.#rules = rules;
    this.#hints = new HintAutomaton([...rules.flatMap(({ hints }) => hints), ...otherHints]);
  }

  /** False: there is none in it. True: it is worth a second look, which costs a hundred times as much. */
  mayHold(text: string): boolean {
    return this.#hints.isInText(text);
  }

  /** The same for bytes: of a text, or of a message that holds texts. */
  mayHoldBytes(bytes: Uint8Array): boolean {
    return this.#hints.isInBytes(bytes);
  }

  /** The first credential of a text; undefined: there is none. */
  findInText(text: string): FoundCredential | undefined {
    const span = this.mayHold(text) ? this.#spansOf(text)[0] : undefined;
    return span && { rule: span.rule, path: "$" };
  }

  /** The first credential of a JSON document, read as it is written. */
  findInJson(document: string): FoundCredential | undefined {
    if (!this.mayHold(document)) {
      return undefined;
    }
    let found: FoundCredential | undefined;
    visitJsonStrings(document, (string) => {
      const rule = this.#ruleOf(string);
      found = rule === undefined ? undefined : { rule, path: string.path() };
      return found === undefined;
    });
    return found;
  }

  /** The text with `[redacted:RULE]` in the place of each credential; the same text when there is none. */
  redactText(text: string): string {
    if (!this.mayHold(text)) {
      return text;
    }
    let redacted = "";
    let at = 0;
    for (const { start, end, rule } of this.#spansOf(text)) {
      redacted += `${text.slice(at, start)}${markOf(rule)}`;
      at = end;
    }
    return redacted + text.slice(at);
  }

  /** The same for a JSON document: only texts are changed, all else stays as it is written. */
  redactJson(document: string): string {
    if (!this.mayHold(document)) {
      return document;
    }
    let redacted = "";
    let at = 0;
    visitJsonStrings(document, (string) => {
      if (this.#ruleOf(string) !== undefined) {
        redacted += document.slice(at, string.start) + JSON.stringify(this.#redacted(string));
        at = string.end;
      }
      return true;
    });
    return redacted + document.slice(at);
  }

  #redacted(string: JsonString): string {
    const text = this.redactText(string.value);
    return text === string.value ? markOf(namedSecretRule) : text;
  }

  #ruleOf({ value, name }: JsonString): string | undefined {
    const span = this.mayHold(value) ? this.#spansOf(value)[0] : undefined;
    if (span !== undefined) {
      return span.rule;
    }
    return name !== undefined && isSecretOfName(name, value) ? namedSecretRule : undefined;
  }

  /** Where credentials are in a text, in order; of those that overlap the first. */
  #spansOf(text: string): Span[] {
    const spans: Span[] = [];
    for (const { name, pattern, isCredential } of this.#rules) {
      pattern.lastIndex = 0;
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        if (isCredential === undefined || isCredential(match)) {
          const end = name === "private-key" ? endOfKey(text, match.index) : pattern.lastIndex;
          spans.push({ rule: name, start: match.index, end });
          pattern.lastIndex = end;
        }
      }
    }
    spans.sort((a, b) => a.start - b.start || b.end - a.end);
    let end = 0;
    return spans.filter((span) => {
      const isBehind = span.start >= end;
      end = isBehind ? span.end : end;
      return isBehind;
    });
  }
}

interface Span {
  readonly rule: string;
  readonly start: number;
  readonly end: number;
}

function markOf(rule: string): string {
  return `[redacted:${rule}]`;
}

/** A key goes up to the line that ends it; one without such a line up to the end. */
function endOfKey(text: string, start: number): number {
  const line = text.indexOf("-----END ", start);
  const close = line < 0 ? -1 : text.indexOf("-----", line + 9);
  return close < 0 ? text.length : close + 5;
}

let standard: CredentialDetector | undefined;

/** The detector with all rules. Made once, when it is first wanted: it takes some milliseconds. */
export function standardDetector(): CredentialDetector {
  standard ??= new CredentialDetector();
  return standard;
}
