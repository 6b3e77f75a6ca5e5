import { inspect } from "node:util";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import {
  DefinitionInvalid,
  isSecretRef,
  json,
  operation,
  Secret,
  type SecretRef,
  SecretUnresolved,
  secretRef,
  task,
} from "@pawl/sdk";
import { expect, test } from "vitest";
import { canaries } from "../content/support/canaries.js";
import { eachClient } from "./support/each-client.js";

const each = eachClient();

const value = "q7wZx3VtLm9RbNc2YdFhJsGp";

interface Call {
  readonly auth: SecretRef;
  readonly n: number;
}

let sent: string[] = [];
const call = operation("call", {
  payload: json<Call>(),
  result: json<string>(),
  call: async ({ payload, secret }) => {
    const token = await secret(payload.auth);
    sent.push(token.reveal());
    return `${token}`;
  },
});
const calling = task("calling", { input: json<Call>(), retry: { attempts: 1 } }).run((ctx, input) =>
  ctx.perform(call, input, { target: "sink" }),
);
const reading = task("reading", { input: json<Call>(), retry: { attempts: 1 } }).run((ctx, input) =>
  ctx.read("it", async ({ secret }) => (await secret(input.auth)).reveal().length),
);
const leaking = task("leaking", { input: json<Call>(), retry: { attempts: 3 } }).run(() => ({
  found: canaries[2]?.value ?? "",
}));

const given: Call = { auth: secretRef("vault:jira"), n: 1 };
const secrets = { vault: (name: string) => Promise.resolve(`${name}-${value}`) };

async function historyOf(runId: string): Promise<string> {
  const pages: string[] = [];
  for await (const page of each.client.api.runs.getHistory({ runId })) {
    pages.push(inspect(page, { depth: 20, maxStringLength: null }));
    for (const { payload } of page.events) {
      if (payload?.body.case === "data") pages.push(Buffer.from(payload.body.value).toString());
    }
  }
  return pages.join("\n");
}

test("a reference is recorded, and looked up where the call is made", async () => {
  sent = [];
  await using worker = await each.client.worker({ serve: [calling, reading], secrets });
  expect(await each.client.execute(calling, given, { runId: "r" })).toBe("[secret vault:jira]");
  expect(sent).toEqual([`jira-${value}`]);
  expect(await each.client.execute(reading, given)).toBe(29);
  const history = await historyOf("r");
  expect(history).toContain('{"auth":{"$secretRef":"vault:jira"},"n":1}');
  expect(history).not.toContain(value);
  const again = await each.client.start(
    calling,
    { n: 1, auth: secretRef("vault:jira") },
    { runId: "r" },
  );
  expect(again.existing).toBe(true);
  const other = each.client.start(
    calling,
    { n: 1, auth: secretRef("vault:other") },
    { runId: "r" },
  );
  await expect(other).rejects.toMatchObject({ code: "PAWL_FINGERPRINT_CONFLICT" });
  await worker.close();
});

test("an unknown one is named, nothing is sent, and nothing is in doubt", async () => {
  sent = [];
  await using worker = await each.client.worker({ serve: [calling, reading] });
  const failed = each.client.execute(calling, given, { runId: "r" });
  await expect(failed).rejects.toThrow();
  const history = await historyOf("r");
  expect(history).toMatch(/no resolver \\?"vault\\?"/);
  expect(sent).toEqual([]);
  const { operations } = await each.client.api.operations.listOperations({ runId: "r" });
  expect(operations.map(({ status }) => status)).toEqual([OperationStatus.INTENDED]);
  const { reviews } = await each.client.api.reviews.listReviews({});
  expect(reviews).toEqual([]);
  await expect(each.client.execute(reading, given)).rejects.toThrow();
  await worker.close();
});

test("without a worker the call itself is told who knows credentials", async () => {
  sent = [];
  const options = { scope: "namespace", key: "k", target: "sink", secrets } as const;
  expect(await each.client.perform(call, given, options)).toBe("[secret vault:jira]");
  expect(sent).toEqual([`jira-${value}`]);
});

test("an output that holds a credential fails its task for good, once, and says where", async () => {
  await using worker = await each.client.worker({ serve: [leaking] });
  const failed = each.client.execute(leaking, given, { runId: "r" });
  await expect(failed).rejects.toThrow();
  const history = await historyOf("r");
  expect(history).toContain("PAWL_CREDENTIAL_IN_PAYLOAD");
  expect(history).toContain("output at $.found");
  expect(history).not.toContain(canaries[2]?.value ?? "none");
  const { tasks } = await each.client.api.runs.listTasks({ runId: "r" });
  expect(tasks.map(({ attempt }) => attempt)).toEqual([1]);
  await worker.close();
});

test("a secret shows its reference, whatever shows it", async () => {
  const secret = new Secret("vault:jira", value);
  const shown = [
    `${secret}`,
    JSON.stringify({ secret }),
    inspect(secret, { showHidden: true, depth: 5 }),
    inspect({ deep: [secret] }),
    String(new Error(`refused for ${secret}`)),
    JSON.stringify(Object.getOwnPropertyNames(secret).map((name) => Reflect.get(secret, name))),
  ];
  expect(shown.join(" ")).not.toContain(value);
  expect(shown[0]).toBe("[secret vault:jira]");
  expect(secret.reveal()).toBe(value);
  const recorded = each.client.start(calling, Object.assign({ n: 1 }, { auth: secret }) as never);
  await expect(recorded).rejects.toMatchObject({ code: "PAWL_VALUE_REFUSED" });
});

test("what is no reference is refused", async () => {
  for (const text of [
    "jira",
    "Vault:jira",
    ":x",
    "vault:",
    `vault:${"x".repeat(160)}`,
    "vault:a b",
  ]) {
    expect(() => secretRef(text)).toThrow(DefinitionInvalid);
  }
  expect(isSecretRef({ $secretRef: "vault:jira" })).toBe(true);
  for (const other of [{ $secretRef: "vault:jira", n: 1 }, { $secretRef: 1 }, "vault:jira", null]) {
    expect(isSecretRef(other)).toBe(false);
  }
  const error = new SecretUnresolved("nobody does.", { reference: "vault:x", retryable: false });
  expect(error.message).toBe('Expected secret "vault:x" to be known, but nobody does.');
});
