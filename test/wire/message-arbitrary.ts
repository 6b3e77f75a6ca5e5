import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import fc from "fast-check";

/** One value for a field, or for one element of a repeated field; nested messages are again recipes. */
type Recipe = readonly { readonly field: DescField; readonly values: readonly unknown[] }[];

/**
 * For properties over whole messages: shrinking one takes minutes and gains little. fast-check still prints the seed,
 * which brings the message back.
 */
export const UNSHRUNK: { readonly endOnFailure: true } = { endOnFailure: true };

/** Any message of the type, nested at most `depthMax` deep, built by protobuf-es's own reflection. */
export function messageArbitrary(desc: DescMessage, depthMax = 3): fc.Arbitrary<Message> {
  return recipeArbitrary(desc, depthMax).map((recipe) => build(desc, recipe).message);
}

function recipeArbitrary(desc: DescMessage, depthMax: number): fc.Arbitrary<Recipe> {
  const fields = desc.members.flatMap((member) => {
    const candidates = (member.kind === "oneof" ? member.fields : [member]).filter(
      (field) => field.message === undefined || depthMax > 1,
    );
    return candidates.length === 0 ? [] : [memberArbitrary(candidates, depthMax)];
  });
  return fc.tuple(...fields).map((values) => values.flat());
}

function memberArbitrary(candidates: readonly DescField[], depthMax: number): fc.Arbitrary<Recipe> {
  return fc.constantFrom(...candidates).chain((field) => {
    const value = valueArbitrary(field, depthMax - 1);
    const values =
      field.fieldKind === "list"
        ? fc.array(value, { maxLength: 4 })
        : fc.option(value, { nil: undefined }).map((one) => (one === undefined ? [] : [one]));
    return values.map((each) => (each.length === 0 ? [] : [{ field, values: each }]));
  });
}

function valueArbitrary(field: DescField, depthMax: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined) return recipeArbitrary(field.message, depthMax);
  if (field.enum !== undefined) {
    // Enums are open: numbers that the schema does not name pass through.
    return fc.oneof(fc.constantFrom(...field.enum.values.map((each) => each.number)), int32);
  }
  return field.scalar === undefined ? fc.constant(undefined) : scalarArbitrary(field.scalar);
}

const int32 = fc.oneof(
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  fc.integer({ min: -2, max: 300 }),
);
const uint32 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 300 }));
const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -300n, max: 2n ** 54n }),
);
const uint64 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 0n, max: 2n ** 54n }),
);

/** Well-formed text: short and long, ASCII and all planes, around the lengths where the code takes another path. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary-ascii", minLength: 60, maxLength: 70 }),
  fc.string({ unit: "binary-ascii", minLength: 120, maxLength: 140 }),
  fc.string({ unit: "binary", minLength: 40, maxLength: 140 }),
);

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.uint8Array({ minLength: 120, maxLength: 140 }),
);

const SCALARS: Readonly<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.DOUBLE]: fc.double(),
  [ScalarType.FLOAT]: fc.float(),
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.STRING]: text,
  [ScalarType.BYTES]: bytes,
};

function scalarArbitrary(scalar: ScalarType): fc.Arbitrary<unknown> {
  return SCALARS[scalar];
}

function build(desc: DescMessage, recipe: Recipe): ReflectMessage {
  const message = reflect(desc);
  for (const { field, values } of recipe) {
    for (const value of values) {
      const wrapped = field.message === undefined ? value : build(field.message, asRecipe(value));
      if (field.fieldKind === "list") message.get(field).add(wrapped);
      else message.set(field, wrapped);
    }
  }
  return message;
}

function asRecipe(value: unknown): Recipe {
  if (!Array.isArray(value)) throw new Error("expected a recipe for a field that holds a message");
  return value;
}
