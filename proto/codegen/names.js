const WELL_KNOWN = new Set(["google.protobuf.Timestamp", "google.protobuf.Duration"]);

/** Whether the message's codec is written by hand, in well-known.ts. */
export function isWellKnown(message) {
  return WELL_KNOWN.has(message.typeName);
}

/** The name that protoc-gen-es gives the message's type, `Outer_Inner` for a nested one: ours are built on it. */
export function baseName(f, message) {
  return f.importShape(message).name;
}

/** The interface of a message. */
export function shapeSymbol({ f, options }, message) {
  return f.import(`${baseName(f, message)}Shape`, codecFile(options, message), true);
}

/** The function of a message: `write` or `read`. */
export function functionSymbol({ f, options }, verb, message) {
  return f.import(`${verb}${baseName(f, message)}`, codecFile(options, message));
}

/** Something of the hand-written runtime: its writer, reader or constants. */
export function runtimeSymbol({ f, options }, name, file, typeOnly = false) {
  return f.import(name, `${options.runtime}/${file}`, typeOnly);
}

function codecFile(options, message) {
  if (isWellKnown(message)) return `${options.runtime}/well-known.js`;
  return `./${message.file.name}_wire.js`;
}

const OWN_NAMES = new Set(["r", "end", "tag", "stop"]);
// Words that no `let` may bind in a module, and globals that the generated code uses.
const RESERVED_WORDS = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export " +
    "extends false finally for function if implements import in instanceof interface let new null package " +
    "private protected public return static super switch this throw true try typeof undefined var void while " +
    "with yield EMPTY_BYTES"
  ).split(" "),
);
const FUNCTION_NAME = /^(?:read|write|encode|decode)[A-Z]/;

/** A local variable for a member of a message, distinct from everything else in the function. */
export function localVariable(member) {
  const name = member.localName;
  const taken = OWN_NAMES.has(name) || RESERVED_WORDS.has(name) || FUNCTION_NAME.test(name);
  return taken ? `${name}$` : name;
}
