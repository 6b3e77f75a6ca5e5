import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import {
  type Choice,
  ChoiceSchema,
  type Empty,
  EmptySchema,
  EnvelopeSchema,
  type Lists,
  ListsSchema,
  type Optionals,
  OptionalsSchema,
  type Scalars,
  ScalarsSchema,
  type Tree,
  TreeSchema,
} from "./fixtures/gen/fixture_pb.js";
import {
  decodeChoice,
  decodeEmpty,
  decodeEnvelope,
  decodeLists,
  decodeOptionals,
  decodeScalars,
  decodeTree,
  encodeChoice,
  encodeEmpty,
  encodeEnvelope,
  encodeLists,
  encodeOptionals,
  encodeScalars,
  encodeTree,
} from "./fixtures/gen/fixture_wire.js";
import { withOpaque } from "./oracle.js";

/** A message type beside what was generated for it. */
export interface Codec {
  readonly desc: DescMessage;
  /** The same type as the codec sees it: messages that it leaves encoded are bytes. */
  readonly seen: DescMessage;
  readonly decode: (bytes: Uint8Array) => object;
  /** Decodes and encodes again. */
  readonly recode: (bytes: Uint8Array) => Uint8Array;
}

/** Pairs a decoder with its encoder; `opaque` names the types that the generator was told to leave encoded. */
export function codec<Shape extends object>(
  desc: DescMessage,
  decode: (bytes: Uint8Array) => Shape,
  encode: (shape: Shape) => Uint8Array,
  opaque: readonly string[] = [],
): Codec {
  return {
    desc,
    seen: opaque.length === 0 ? desc : withOpaque(desc, opaque),
    decode,
    recode: (bytes) => encode(decode(bytes)),
  };
}

/** Every fixture, reached through its decoder. */
export const codecs: readonly Codec[] = [
  codec(EmptySchema, decodeEmpty, encodeEmpty),
  codec(ScalarsSchema, decodeScalars, encodeScalars),
  codec(OptionalsSchema, decodeOptionals, encodeOptionals),
  codec(ListsSchema, decodeLists, encodeLists),
  codec(ChoiceSchema, decodeChoice, encodeChoice),
  codec(TreeSchema, decodeTree, encodeTree),
  codec(EnvelopeSchema, decodeEnvelope, encodeEnvelope, ["fixture.Secret"]),
];

/** A message type whose protobuf-es messages the generated encoder takes as they are. */
export interface Encoder<T extends Message> {
  readonly schema: GenMessage<T>;
  readonly encode: (message: T) => Uint8Array;
}

/**
 * Every fixture without opaque fields, reached through its encoder. The types are half of the test: each line compiles
 * only if a protobuf-es message has the generated shape.
 */
export const encoders: {
  readonly empty: Encoder<Empty>;
  readonly scalars: Encoder<Scalars>;
  readonly optionals: Encoder<Optionals>;
  readonly lists: Encoder<Lists>;
  readonly choice: Encoder<Choice>;
  readonly tree: Encoder<Tree>;
} = {
  empty: { schema: EmptySchema, encode: encodeEmpty },
  scalars: { schema: ScalarsSchema, encode: encodeScalars },
  optionals: { schema: OptionalsSchema, encode: encodeOptionals },
  lists: { schema: ListsSchema, encode: encodeLists },
  choice: { schema: ChoiceSchema, encode: encodeChoice },
  tree: { schema: TreeSchema, encode: encodeTree },
};
