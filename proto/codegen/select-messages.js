import { Edition } from "@bufbuild/protobuf/wkt";
import { isWellKnown } from "./names.js";

/**
 * Decides which messages get a codec: the chosen ones and, transitively, those their fields hold, opaque ones
 * excepted. Returns them by file, in the order of their declaration.
 */
export function selectMessages(schema) {
  const { options } = schema;
  const all = schema.allFiles.flatMap((file) => [...messagesIn(file.messages)]);
  const given = all.filter((message) => schema.files.includes(message.file));
  const roots = given.filter((message) => isRoot(message, options));
  refuseIdleOptions(options, all, roots);

  const selected = new Set();
  const pending = [...roots];
  for (let message = pending.pop(); message !== undefined; message = pending.pop()) {
    if (selected.has(message) || isWellKnown(message)) continue;
    refuseUnsupported(message, schema);
    selected.add(message);
    pending.push(...heldBy(message, options));
  }

  const byFile = new Map();
  for (const message of given.filter((each) => selected.has(each))) {
    byFile.set(message.file, [...(byFile.get(message.file) ?? []), message]);
  }
  return byFile;
}

function* messagesIn(messages) {
  for (const message of messages) {
    yield message;
    yield* messagesIn(message.nestedMessages);
  }
}

function isRoot(message, { only, message: named }) {
  if (only.length === 0 && named.size === 0) return true;
  return named.has(message.typeName) || only.some((prefix) => isBelow(message.file, prefix));
}

function isBelow(file, prefix) {
  const { package: name } = file.proto;
  return (
    file.name === prefix ||
    file.name.startsWith(`${prefix}/`) ||
    name === prefix ||
    name.startsWith(`${prefix}.`)
  );
}

function heldBy(message, options) {
  return message.fields
    .map((field) => field.message)
    .filter((held) => held !== undefined && !options.opaque.has(held.typeName));
}

// An option that matches nothing is a typing mistake, and would otherwise be seen only as missing code.
function refuseIdleOptions({ only, message: named, opaque }, all, roots) {
  const names = new Set(all.map((message) => message.typeName));
  const rootNames = new Set(roots.map((message) => message.typeName));
  for (const name of opaque) {
    if (!names.has(name))
      throw new Error(`opaque=${name}: expected a message, but there is none of this name`);
  }
  for (const name of named) {
    if (!rootNames.has(name)) {
      throw new Error(
        `message=${name}: expected a message of the given files, but there is none of this name; ` +
          "name its file in the inputs, and give buf `strategy: all`",
      );
    }
  }
  for (const prefix of only) {
    if (!roots.some((message) => isBelow(message.file, prefix))) {
      throw new Error(
        `only=${prefix}: expected a path or package with messages in the given files, but there are none`,
      );
    }
  }
}

function refuseUnsupported(message, schema) {
  const { file, typeName } = message;
  if (typeName.startsWith("google.protobuf.")) {
    throw new Error(
      `${typeName}: expected no well-known type but Timestamp and Duration; ` +
        "use a message of your own, or make it opaque",
    );
  }
  if (!schema.files.includes(file)) {
    throw new Error(
      `${typeName}: expected its file ${file.name}.proto among those to generate, but it is only imported; ` +
        "name it in the inputs, give buf `strategy: all`, or make the message opaque",
    );
  }
  if (file.edition !== Edition.EDITION_PROTO3) {
    throw new Error(
      `${typeName}: expected syntax = "proto3" in ${file.name}.proto, but it is another`,
    );
  }
  for (const field of message.fields) {
    if (field.fieldKind === "map") {
      throw new Error(
        `${field.toString()}: expected no map, but it is one; use a repeated message with key and value`,
      );
    }
    if (field.longAsString) {
      throw new Error(
        `${field.toString()}: expected no jstype = JS_STRING; 64-bit integers are bigints here`,
      );
    }
  }
}
