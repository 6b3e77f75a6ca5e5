import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import {
  type ContractComments,
  fieldsOf,
  readComments,
  readServices,
  subjectOf,
} from "./read-contract.js";

/** Streams whose messages hold items of many kinds: each item is looked at. */
const streams = ["Submit", "Work"];

/** Methods that make what was not there, and so can name no version of it. Whatever is not listed changes something that exists. */
const makesNew = ["StartRuns", "StartAndAwait", "CreateNamespace", "ClaimTasks"];

/** Each claim is a new one, whatever was claimed before: what a lost answer gave out is offered elsewhere by itself. */
const repeats = ["ClaimTasks"];

/** Methods whose version may be left out: they mean the thing as it is. */
const anyVersion = [
  ...["CancelRun", "DeleteRun", "PauseRun", "RemoveCurrentVersion", "ResumeRun", "RetryRun"],
  ...["RewindRun", "SendSignal", "SetCredentialPolicy", "SetCurrentVersion", "SetLegalHold"],
  ...["SetRetention", "TerminateRun", "UpdateRun"],
];

/** What an item of a stream is the same as; the rules of that method are its own. `reading`: it changes nothing durable. */
const twins: Readonly<Record<string, string>> = {
  AwaitRun: "reading",
  CallItem: "CallTasks",
  EmitItem: "EmitOutput",
  IntentItem: "IntendOperation",
  ObligationItem: "RecordObligations",
  ChildItem: "StartChildren",
  ObservationItem: "ObserveOperation",
  OutputItem: "EmitOutput",
  ProgressItem: "ReportProgress",
  ReconciliationItem: "ReconcileOperation",
  ReleaseItem: "ReleaseTask",
  ReportItem: "ReportOutputs",
  StartRun: "StartRuns",
  SubmitSignal: "SendSignal",
  StepItem: "RecordSteps",
  SuspendItem: "Suspend",
  WaitItem: "DeclareWaits",
};

let methods: readonly DescMethod[];
let comments: ContractComments;

beforeAll(async () => {
  methods = (await readServices()).flatMap((service) => service.methods);
  comments = readComments();
});

const commentOf = (method: DescMethod): string => comments.methods.get(method.name) ?? "";
const isMemoryOnly = (comment: string): boolean => /\bMemory only\b/.test(comment);

/** Everything that does not say that it only reads. */
function mutating(): readonly DescMethod[] {
  return methods.filter(
    (method) => !streams.includes(method.name) && !/\bChanges nothing\b/.test(commentOf(method)),
  );
}

/** What tells a repeat from a second wish: a request id, or something that the comment names as the identity. */
function hasIdentity(comment: string, fields: readonly string[]): boolean {
  return (
    fields.includes("request_id") ||
    /\b[Ii]dentified by \S+/.test(comment) ||
    /\bidentity is \S+/.test(comment)
  );
}

/** What says as which the caller has seen the thing that it changes: a version, its lease, or the call of it that it made. */
function namesVersion(fields: readonly string[]): boolean {
  return ["expected_version", "expected_plan_version", "lease_version", "intent_id"].some((name) =>
    fields.includes(name),
  );
}

function itemsOf(message: DescMessage): DescMessage[] {
  return message.fields.flatMap((field) =>
    field.fieldKind === "list" && field.listKind === "message" ? [field.message] : [],
  );
}

test("every method has a comment, and these tests find it", () => {
  expect(methods.length).toBeGreaterThan(50);
  expect(methods.filter((method) => commentOf(method).length < 20)).toEqual([]);
});

describe("a method that changes something", () => {
  test("is every one that does not say that it changes nothing, and none that only reads by its name", () => {
    const readers = methods.filter(({ name }) =>
      /^(Get|List|Await|Watch|Count|Read|Query|Diff|Export)/.test(name),
    );
    const changing = new Set(mutating());
    expect(readers.filter((method) => changing.has(method)).map(({ name }) => name)).toEqual([]);
    const others = methods.filter((method) => !readers.includes(method));
    const silent = others.filter(({ name }) => !streams.includes(name));
    expect(silent.filter((method) => !changing.has(method)).map(({ name }) => name)).toEqual([]);
  });

  test("has a request id, or its comment names what identifies it, or it is in memory only", () => {
    const faulty = mutating()
      .filter((method) => !isMemoryOnly(commentOf(method)) && !repeats.includes(method.name))
      .filter((method) => !hasIdentity(commentOf(method), fieldsOf(subjectOf(method))))
      .map(({ name }) => name);
    expect(faulty).toEqual([]);
  });

  test("says how a retry goes", () => {
    const faulty = mutating().filter((method) => !/\b[Rr]etry\b/.test(commentOf(method)));
    expect(faulty.map(({ name }) => name)).toEqual([]);
  });

  test("that exists asks for its version or its lease", () => {
    const faulty = mutating()
      .filter(({ name }) => !makesNew.includes(name))
      .filter((method) => !namesVersion(fieldsOf(subjectOf(method))))
      .map(({ name }) => name);
    expect(faulty).toEqual([]);
  });

  test("may do without the version only where the field says so, in the methods that are meant to", () => {
    const versioned = mutating().flatMap((method) => {
      const field = subjectOf(method).field["expectedVersion"];
      return field === undefined ? [] : [{ method, field }];
    });
    expect(versioned.length).toBeGreaterThan(8);
    const said = versioned.filter(({ field }) =>
      /\bany\b/i.test(comments.fields.get(`${field.parent.name}.${field.name}`) ?? ""),
    );
    expect(said.map(({ method }) => method.name).toSorted()).toEqual(anyVersion);
    const optional = versioned.filter(({ field }) => field.proto.proto3Optional);
    expect(optional.map(({ method }) => method.name).toSorted()).toEqual(anyVersion);
    for (const name of anyVersion) {
      const comment = comments.methods.get(name);
      expect([name, comment]).toEqual([name, expect.stringContaining("PAWL_STALE_VERSION")]);
    }
  });

  test("is one of those that are there, where a list of this file names it", () => {
    const names = new Set(methods.map(({ name }) => name));
    const listed = [...makesNew, ...anyVersion, ...Object.values(twins), ...streams];
    expect(listed.filter((name) => name !== "reading" && !names.has(name))).toEqual([]);
  });
});

describe("an item of a stream", () => {
  const items = (): DescMessage[] =>
    methods.filter(({ name }) => streams.includes(name)).flatMap(({ input }) => itemsOf(input));

  test("is the same as a method that changes something, whose rules it keeps", () => {
    expect(items().length).toBeGreaterThan(8);
    expect(
      items()
        .map(({ name }) => name)
        .filter((name) => twins[name] === undefined),
    ).toEqual([]);
    const changing = new Set(mutating().map(({ name }) => name));
    const strays = items().filter(({ name }) => {
      const twin = twins[name] ?? "";
      return twin !== "reading" && !changing.has(twin);
    });
    expect(strays.map(({ name }) => name)).toEqual([]);
  });

  test("bears a number by which it is answered and sent again, unless it is in memory only", () => {
    const faulty = items().filter((item) => {
      const twin = comments.methods.get(twins[item.name] ?? "") ?? "";
      return !isMemoryOnly(twin) && item.field["correlation"] === undefined;
    });
    expect(faulty.map(({ name }) => name)).toEqual([]);
  });

  test("names the lease under which it acts, by its version or its handle", () => {
    const ofWork = methods
      .filter(({ name }) => name === "Work")
      .flatMap(({ input }) => itemsOf(input));
    const faulty = ofWork.filter((item) => {
      const fields = fieldsOf(item);
      return !fields.includes("lease_version") && !fields.includes("handle");
    });
    expect(faulty.map(({ name }) => name)).toEqual([]);
  });
});

describe("these rules", () => {
  test("refuse what has neither identity nor version, and what only says so", () => {
    expect(hasIdentity("Durable when answered. Retry: safe.", ["run_id"])).toBe(false);
    expect(hasIdentity("Retry: safe, identified by run.", ["run_id"])).toBe(true);
    expect(hasIdentity("Retry: safe.", ["request_id"])).toBe(true);
    expect(namesVersion(["run_id", "version"])).toBe(false);
    expect(namesVersion(["lease", "run_id", "lease_version"])).toBe(true);
  });
});
