import { type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";

/** What is encoded already, by its message. */
const encoded = new WeakMap<Message, Uint8Array>();

/** Notes the encoded form of an answer: it is sent as it is wherever answers are sent encoded. */
export function keepEncoded<T extends Message>(message: T, bytes: Uint8Array): T {
  encoded.set(message, bytes);
  return message;
}

/** The encoded form of an answer. */
export function encodeAnswer(schema: DescMessage, message: Message): Uint8Array {
  return encoded.get(message) ?? toBinary(schema, message);
}
