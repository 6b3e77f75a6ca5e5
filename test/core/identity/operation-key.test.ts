import { createHash } from "node:crypto";
import { IdentityError } from "@pawl/server/core/identity/identity-error.js";
import {
  buildOperationKey,
  escapeField,
  formatOperationIdentity,
  type OperationIdentity,
  type TaskScopeIdentity,
} from "@pawl/server/core/identity/operation-key.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readOperationKeyVectors } from "../../vectors/read-vectors.js";

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

const mail: TaskScopeIdentity = {
  scope: "task",
  namespace: "default",
  runId: "order-7",
  incarnation: 1,
  task: "send",
  operation: "mail",
  planVersion: 1,
};

// Few characters, most of them with a meaning in a key: identities that could run together are common.
const trickyText = fc.oneof(
  fc.string({ unit: fc.constantFrom("/", "%", "2", "F", "1", "a", ":", "é", "😂"), maxLength: 4 }),
  fc.constantFrom("task", "run", "namespace", "main", "1", "2", "a/b", "a%2Fb", "1/main"),
);
const longText = fc
  .tuple(trickyText, fc.constantFrom("x", "é", "/"), trickyText)
  .map(([head, filler, tail]) => head + filler.repeat(60) + tail);
const text = fc.oneof({ weight: 4, arbitrary: trickyText }, { weight: 1, arbitrary: longText });
const count = fc.constantFrom(1, 2, 11, 12);
const discriminator = fc.option(text, { nil: undefined });

const identities: fc.Arbitrary<OperationIdentity> = fc.oneof(
  fc.record({
    scope: fc.constant("task" as const),
    namespace: text,
    runId: text,
    incarnation: count,
    task: text,
    operation: text,
    planVersion: count,
    discriminator,
  }),
  fc.record({
    scope: fc.constant("run" as const),
    namespace: text,
    runId: text,
    incarnation: count,
    operation: text,
    planVersion: count,
    discriminator,
  }),
  fc.record({
    scope: fc.constant("namespace" as const),
    namespace: text,
    operation: text,
    discriminator: text,
  }),
);

describe("operation key", () => {
  const { cases } = readOperationKeyVectors();

  it("has at least 15 vectors", () => {
    expect(cases.length).toBeGreaterThanOrEqual(15);
  });

  it.each(cases)("vector: $name", ({ identity, fullForm, key, uuid }) => {
    expect(formatOperationIdentity(identity)).toBe(fullForm);
    expect(buildOperationKey(identity, sha256)).toEqual({ key, uuid });
  });

  it("is injective: identities are equal exactly when full forms, keys and UUIDs are", () => {
    fc.assert(
      fc.property(identities, identities, (left, right) => {
        // JSON leaves an absent discriminator out, and nothing else can be absent.
        const equal = JSON.stringify(left) === JSON.stringify(right);
        const leftKey = buildOperationKey(left, sha256);
        const rightKey = buildOperationKey(right, sha256);
        expect(formatOperationIdentity(left) === formatOperationIdentity(right)).toBe(equal);
        expect(leftKey.key === rightKey.key).toBe(equal);
        expect(leftKey.uuid === rightKey.uuid).toBe(equal);
      }),
      { numRuns: 3000 },
    );
  });

  it("changes with every single field", () => {
    const keys = [
      mail,
      { ...mail, namespace: "other" },
      { ...mail, runId: "order-8" },
      { ...mail, incarnation: 2 },
      { ...mail, task: "send-again" },
      { ...mail, operation: "sms" },
      { ...mail, planVersion: 2 },
      { ...mail, discriminator: "" },
      { ...mail, discriminator: "1" },
    ].map((identity) => buildOperationKey(identity, sha256).key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("reads back: splitting the full form and undoing the escapes gives the fields", () => {
    fc.assert(
      fc.property(identities, (identity) => {
        const fields = formatOperationIdentity(identity).split("/").map(decodeURIComponent);
        const expected = [identity.scope, identity.namespace];
        if (identity.scope !== "namespace") {
          expected.push(identity.runId, String(identity.incarnation));
        }
        if (identity.scope === "task") expected.push(identity.task);
        expected.push(identity.operation);
        if (identity.scope !== "namespace") expected.push(String(identity.planVersion));
        if (identity.discriminator !== undefined) expected.push(identity.discriminator);
        expect(fields).toEqual(expected);
      }),
    );
  });
});

describe("operation key, its form", () => {
  it("has 1 to 255 characters, all of them safe, and a UUID of version 8", () => {
    fc.assert(
      fc.property(identities, (identity) => {
        const { key, uuid } = buildOperationKey(identity, sha256);
        expect(key.length).toBeLessThanOrEqual(255);
        expect(key).toMatch(/^(?:[A-Za-z0-9\-._~/]|%[0-9A-F]{2})+(?::[0-9a-f]{32})?$/);
        expect(uuid).toMatch(
          /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        );
      }),
    );
  });

  it("keeps 255 characters whole and shows where a longer form was cut", () => {
    const identity = { ...mail, discriminator: "" };
    const room = 255 - formatOperationIdentity(identity).length;
    const whole = buildOperationKey({ ...mail, discriminator: "x".repeat(room) }, sha256).key;
    const cut = buildOperationKey({ ...mail, discriminator: "x".repeat(room + 1) }, sha256).key;
    expect(whole).toBe(`task/default/order-7/1/send/mail/1/${"x".repeat(room)}`);
    expect(cut).toMatch(/^task\/default\/order-7\/1\/send\/mail\/1\/x+:[0-9a-f]{32}$/);
    expect(cut).toHaveLength(255);
  });

  it("refuses what the edge must not let through, naming the field", () => {
    const broken: readonly (readonly [string, OperationIdentity])[] = [
      ["namespace", { ...mail, namespace: "\ud800" }],
      ["run_id", { ...mail, runId: "\udc00" }],
      ["task", { ...mail, task: "a\ud83d" }],
      ["operation", { ...mail, operation: "\ud83d\ud83d" }],
      ["discriminator", { ...mail, discriminator: "\ude02\ud83d" }],
      ["incarnation", { ...mail, incarnation: 0 }],
      ["incarnation", { ...mail, incarnation: 1.5 }],
      ["plan_version", { ...mail, planVersion: Number.NaN }],
      ["plan_version", { ...mail, planVersion: 2 ** 53 }],
    ];
    for (const [field, identity] of broken) {
      expect(() => buildOperationKey(identity, sha256), field).toThrow(
        expect.objectContaining({ code: "PAWL_IDENTITY_INVALID", field }),
      );
    }
  });
});

describe("escapeField", () => {
  it("is undone by decodeURIComponent and keeps only unreserved characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        const escaped = escapeField("task", value);
        expect(decodeURIComponent(escaped)).toBe(value);
        expect(escaped).toMatch(/^(?:[A-Za-z0-9\-._~]|%[0-9A-F]{2})*$/);
      }),
    );
  });

  it.each([
    ["!'()*", "%21%27%28%29%2A"],
    ["a b+c", "a%20b%2Bc"],
    ["é€😂", "%C3%A9%E2%82%AC%F0%9F%98%82"],
    ["100%2F", "100%252F"],
  ])("writes %s as %s", (plain, escaped) => {
    expect(escapeField("task", plain)).toBe(escaped);
  });

  it("throws for a lone surrogate", () => {
    expect(() => escapeField("task", "\ud800")).toThrow(IdentityError);
  });
});
