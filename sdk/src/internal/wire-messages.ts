import {
  type DescField,
  type DescMessage,
  type DescOneof,
  fromBinary,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { decodePayload, type PayloadShape, writePayload } from "@pawl/proto/v1/payload_wire.js";
import { type Plan, PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { WireWriter } from "@pawl/proto/wire/writer.js";

/**
 * The straight-line codecs of `@pawl/proto` read and write plain shapes; the rest of this SDK knows protobuf-es messages. They differ in two
 * points only: a message carries its type's name, and a `pawl.v1.Payload` or `pawl.v1.Plan` inside a shape is still encoded. Which fields those
 * are is read from the descriptors once, so a field that the contract gains is converted without a change here.
 */

/** Encoded plans: the runs of a workflow all send the same one. */
const encodedPlans = new WeakMap<Message, Uint8Array>();

/** Fields by name, whatever the type. */
type Fields = Record<string, unknown>;

/** A place in a message that holds another one. */
interface Place {
  readonly kind: "one" | "list" | "oneof";
  readonly name: string;
  /** What it holds; of a oneof by its case. */
  readonly types: ReadonlyMap<string, DescMessage>;
}

const placesByType = new Map<string, readonly Place[]>();

/** Makes the shape that a straight-line codec read a message of this type. The shape itself becomes the message. */
export function toMessage<Desc extends DescMessage>(
  schema: Desc,
  shape: object,
): MessageShape<Desc> {
  const fields = shape as Fields;
  fields["$typeName"] = schema.typeName;
  for (const place of placesOf(schema)) {
    change(fields, place, readContent);
  }
  return fields as MessageShape<Desc>;
}

/** The shape of a message, for a straight-line codec: a copy where the message holds others, itself elsewhere. */
export function toShape(schema: DescMessage, message: Message): object {
  const places = placesOf(schema);
  if (places.length === 0) {
    return message;
  }
  const fields: Fields = { ...message };
  for (const place of places) {
    change(fields, place, writeContent);
  }
  return fields;
}

/** The encoded form of a plan, made once. */
export function encodePlanOnce(plan: Plan): Uint8Array {
  let bytes = encodedPlans.get(plan);
  if (bytes === undefined) {
    bytes = toBinary(PlanSchema, plan);
    encodedPlans.set(plan, bytes);
  }
  return bytes;
}

function readContent(schema: DescMessage, content: object): object {
  if (!(content instanceof Uint8Array)) {
    return toMessage(schema, content);
  }
  return schema === PayloadSchema
    ? toMessage(PayloadSchema, decodePayload(content))
    : fromBinary(schema, content);
}

/** Short contents of one message lie side by side in memory: an array of its own for each would cost more than to write it. */
const SLAB_BYTES = 16_384;
const SHARED_BYTES_MAX = 1_024;

const writer = new WireWriter();
let slab = new Uint8Array(SLAB_BYTES);
let slabUsed = 0;

function writeContent(schema: DescMessage, content: object): object {
  switch (schema) {
    case PayloadSchema:
      return writePayloadOf(content as Payload);
    case PlanSchema:
      return encodePlanOnce(content as Plan);
    default:
      return toShape(schema, content as Message);
  }
}

function writePayloadOf(payload: Payload): Uint8Array {
  // With content at hand and no digest it holds no other message: it is its own shape.
  const isBare = payload.body.case === "data" && payload.digest === undefined;
  writer.reset();
  writePayload(writer, (isBare ? payload : toShape(PayloadSchema, payload)) as PayloadShape);
  if (writer.pos > SHARED_BYTES_MAX) {
    return writer.finish();
  }
  if (slabUsed + writer.pos > SLAB_BYTES) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  slab.set(writer.view(), slabUsed);
  slabUsed += writer.pos;
  return slab.subarray(slabUsed - writer.pos, slabUsed);
}

/** Puts in every place what `convert` makes of what is there. */
function change(
  fields: Fields,
  { kind, name, types }: Place,
  convert: (schema: DescMessage, content: object) => object,
): void {
  const content = fields[name];
  if (typeof content !== "object" || content === null) {
    return;
  }
  if (kind === "oneof") {
    const chosen = content as { readonly case?: string; readonly value?: unknown };
    const type = chosen.case === undefined ? undefined : types.get(chosen.case);
    if (type !== undefined && typeof chosen.value === "object" && chosen.value !== null) {
      fields[name] = { case: chosen.case, value: convert(type, chosen.value) };
    }
    return;
  }
  const type = types.get(name);
  if (type === undefined) {
    return;
  }
  if (kind === "one") {
    fields[name] = convert(type, content);
  } else if (Array.isArray(content) && content.length > 0) {
    fields[name] = content.map((item: object) => convert(type, item));
  }
}

function placesOf(schema: DescMessage): readonly Place[] {
  let places = placesByType.get(schema.typeName);
  if (places === undefined) {
    places = schema.members.flatMap(placeOf);
    placesByType.set(schema.typeName, places);
  }
  return places;
}

function placeOf(member: DescField | DescOneof): Place[] {
  const fields = member.kind === "oneof" ? member.fields : [member];
  const types = new Map<string, DescMessage>();
  for (const field of fields) {
    if (field.message !== undefined) types.set(field.localName, field.message);
  }
  if (types.size === 0) {
    return [];
  }
  const kind = member.kind === "oneof" ? "oneof" : member.fieldKind === "list" ? "list" : "one";
  return [{ kind, name: member.localName, types }];
}
