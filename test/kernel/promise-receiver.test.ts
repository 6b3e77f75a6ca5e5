import { PromiseReceiver } from "@pawl/server/kernel/promise-receiver.js";
import { describe, expect, it } from "vitest";

const refused = { accepted: false, rejection: { reason: "PAWL_INTERNAL", message: "x" } } as const;

describe("answers by promise", () => {
  it("keep nothing of a wait that was given up", () => {
    const promises = new PromiseReceiver();
    const heard: unknown[] = [];
    const hear = (value: unknown): number => heard.push(value);
    const tag = promises.expect(() => "answer", hear, hear);
    expect(promises.open).toBe(1);
    promises.forget(tag);
    expect(promises.open).toBe(0);
    promises.outcome(tag, refused);
    promises.prepare();
    promises.release();
    promises.fail(new Error("the store failed"));
    expect(heard).toEqual([]);
  });

  it("are given once what they depend on is durable, although the wait was given up after the decision", () => {
    const promises = new PromiseReceiver();
    const heard: unknown[] = [];
    const hear = (value: unknown): number => heard.push(value);
    const tag = promises.expect(() => "answer", hear, hear);
    promises.outcome(tag, refused);
    promises.forget(tag);
    promises.prepare();
    expect(heard).toEqual([]);
    promises.release();
    expect(heard).toEqual(["answer"]);
    expect(promises.open).toBe(0);
  });
});
