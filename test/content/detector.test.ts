import { createHash } from "node:crypto";
import { textRules } from "@pawl/proto/content/credential-rules.js";
import { CredentialDetector } from "@pawl/proto/content/find-credentials.js";
import { expect, test } from "vitest";
import { canaries } from "./support/canaries.js";

const detector = new CredentialDetector();

test("there are at least forty canaries, and one for each rule", () => {
  expect(canaries.length).toBeGreaterThanOrEqual(40);
  expect(new Set(canaries.map(({ rule }) => rule))).toEqual(
    new Set(textRules.map(({ name }) => name)),
  );
});

test.each(canaries)(
  "$rule is found in prose, as bytes, as a value and as a name, and only by its rule",
  (canary) => {
    const { rule, value } = canary;
    const prose = `The sink said: ${value} and no more.`;
    expect(detector.findInText(prose)).toEqual({ rule, path: "$" });
    expect(detector.mayHoldBytes(Buffer.from(prose))).toBe(true);
    const document = JSON.stringify({ n: 1, deep: [{ at: "x" }, { it: prose }], u: "é" });
    expect(detector.findInJson(document)).toEqual({ rule, path: "$.deep[1].it" });
    expect(detector.findInJson(JSON.stringify({ [value]: 1 }))).toEqual({ rule, path: "$" });
    const without = new CredentialDetector(textRules.filter(({ name }) => name !== rule));
    expect(without.findInText(prose)).toBeUndefined();
  },
);

test.each(canaries)("$rule is replaced, and nothing else is", ({ rule, value }) => {
  const redacted = detector.redactText(`The sink said: ${value} and no more.`);
  expect(redacted).toMatch(/^The sink said: .*\[redacted:[a-z-]+\].* and no more\.$/);
  expect(redacted).toContain(`[redacted:${rule}]`);
  const document = `{ "n": 1.0, "big": 12345678901234567890, "it": ${JSON.stringify(`a ${value} z`)}, "n": 2 }`;
  const json = detector.redactJson(document);
  expect(json.startsWith('{ "n": 1.0, "big": 12345678901234567890, "it": "a ')).toBe(true);
  expect(json.endsWith(' z", "n": 2 }')).toBe(true);
  expect(detector.findInJson(json)).toBeUndefined();
  expect(json).not.toContain(value.slice(value.length * 0.4, value.length * 0.4 + 9));
});

const secrets: readonly (readonly [field: string, value: string])[] = [
  ["password", "hunter2!x"],
  ["db_password", "Tr0ub4dor&3"],
  ["api_key", "0b0e7f3e-93a4-4c4b-8c8e-3f2f1f8f4a11"],
  ["apiKey", "7f3c9a1e5b8d20461f9e"],
  ["clientSecret", "q7wZx3VtLm9RbNc2"],
  ["access_token", "q7wZx3VtLm9RbNc2YdFh"],
  ["Authorization", "Basic YmlsbGluZzpxN3daeDNWdExt"],
  ["aws_secret_access_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEq7wZx3Vt"],
];

test.each(secrets)("a random value in a field named %s is a credential", (field, value) => {
  const document = JSON.stringify({ config: { [field]: value } });
  const found = detector.findInJson(document);
  expect(found?.path).toBe(`$.config.${field}`);
  const redacted: unknown = JSON.parse(detector.redactJson(document));
  expect(redacted).toEqual({
    config: { [field]: expect.stringMatching(/^.{0,6}\[redacted:[a-z-]+\]$/) },
  });
});

test("what is written with escapes is read", () => {
  expect(detector.findInJson('{"a":"\\u0041KIAQZ3WXF7LT5NMR2VD"}')?.rule).toBe("aws-access-key");
  expect(detector.findInJson('{"a":"postgres:\\/\\/me:q7wZx3Vt9@db\\/x"}')?.rule).toBe(
    "url-password",
  );
  expect(detector.findInJson('{"pass\\u0077ord":"hunter2!x"}')?.path).toBe("$.password");
  expect(detector.findInJson('{"password":"hunter2!x","password":"none"}')?.path).toBe(
    "$.password",
  );
});

const random = (bytes: number, seed: string): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(bytes / 32) }, (_, index) =>
      createHash("sha256").update(`${seed}${index}`).digest(),
    ),
  ).subarray(0, bytes);

const ordinary: readonly unknown[] = [
  { id: "0b0e7f3e-93a4-4c4b-8c8e-3f2f1f8f4a11", token: "0b0e7f3e-93a4-4c4b-8c8e-3f2f1f8f4a11" },
  { sha: random(32, "a").toString("hex"), commit: random(20, "b").toString("hex") },
  { image: `data:image/png;base64,${random(60_000, "c").toString("base64")}` },
  { blob: random(60_000, "d").toString("base64url") },
  { usage: { prompt_tokens: 1832, completion_tokens: 412, total_tokens: 2244 }, max_token: 4096 },
  {
    nextPageToken: random(24, "e").toString("base64url"),
    idempotencyToken: random(16, "f").toString("hex"),
  },
  {
    text: "Please reset my password: the token page says the secret question is wrong. Bearer bonds, basic income.",
  },
  {
    url: "https://example.com/a?b=c#d",
    proxy: "http://proxy.example:3128/",
    mail: "mailto:a@b.example",
    at: "https://host:8080/@scope/pkg",
  },
  {
    password: "********",
    api_key: ["$", "{API_KEY}"].join(""),
    secret: "<redacted>",
    token: "vault:jira",
    auth: null,
  },
  { password: { $secretRef: "vault:jira" }, api_key: { $secretRef: "env:API_KEY" } },
  {
    password: "",
    passwordRequired: true,
    tokenType: "Bearer",
    secretName: "jira-bot",
    keyId: "arn:aws:kms:eu",
  },
  {
    publicKey:
      "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
  },
  { sku: "SK-4711", key: "invoice-4711", keys: ["a", "b"], sort_key: "2024-05-01T10:00:00Z#4711" },
  { iban: "DE89370400440532013000", phone: "+49 30 901820", card: "4111 1111 1111 1111" },
  {
    code: "const token = await getToken(user); if (!password) throw new Error('password: required');",
  },
  { sk: "sk-learn pipeline, sk-SK locale, gh_pages, npm_config_registry=https://r.example/" },
  { ticket: "PROJ-1234", account: "acct_1Q7wZx3VtLm9RbNc", price: "price_1Q7wZx3VtLm9RbNc" },
  {
    jwtKind: "eyJ is how a JWT begins",
    version: "1.2.3",
    etag: '"33a64df551425fcc55e4d42a148795d9f25f89d4"',
  },
];

test.each(ordinary.map((value) => ({ names: Object.keys(Object(value)).join(", "), value })))(
  "what has $names holds none",
  ({ value }) => {
    const document = JSON.stringify(value);
    expect(detector.findInJson(document)).toBeUndefined();
    expect(detector.redactJson(document)).toBe(document);
  },
);

test("a thousand random contents of each encoding hold none", () => {
  for (let index = 0; index < 1_000; index++) {
    const bytes = random(300, `r${index}`);
    for (const encoding of ["hex", "base64", "base64url"] as const) {
      const document = JSON.stringify({ id: bytes.toString(encoding), note: "n" });
      expect(detector.findInJson(document)).toBeUndefined();
    }
  }
});

test("hostile texts take a time in proportion to their length", () => {
  const pieces = [
    "-eyJaaaaaaaaaa",
    "-----BEGIN RSA PRIVATE KEY-----",
    "://a:",
    "Bearer a",
    "password=",
    "sk-",
    "a-",
    "a_key",
    '\\"',
    "{",
    "x.atlasv1.",
  ];
  for (const piece of pieces) {
    const text = piece.repeat(40_000 / piece.length);
    const startedAt = performance.now();
    detector.redactText(text);
    detector.findInJson(`{"a":"${text}"}`);
    expect(performance.now() - startedAt, piece).toBeLessThan(4_000);
  }
});
