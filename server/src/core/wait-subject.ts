import type { WaitDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import type { WaitSubject } from "./command.js";
import { toHex } from "./identity/hex.js";

/** What is waited for, as it is recorded. */
export type DeclaredSubject = WaitDeclarationShape["subject"];

/**
 * What identifies what is waited for, as text: two waits of one name must agree in it.
 * @param runNumber of the run that waits: what is recorded is of that run.
 */
export function describeSubject(subject: WaitSubject | DeclaredSubject, runNumber: number): string {
  switch (subject.case) {
    case "timer":
      return "timer";
    case "proposal":
      return "value" in subject
        ? `proposal ${runNumber}-${subject.value.proposal}`
        : `proposal ${subject.ofRun}-${subject.proposal}`;
    case "child":
      return `child ${"value" in subject ? subject.value.obligation : subject.obligation}`;
    case "obligation":
      return `obligation ${"value" in subject ? subject.value.obligation : subject.obligation}`;
    case "signal":
      return `signal ${"value" in subject ? subject.value.signal : subject.signal}`;
    case "update":
      return `update ${"value" in subject ? subject.value.update : subject.update}`;
    case "review":
      return `review ${"value" in subject ? subject.value.review : subject.review}`;
    case "input":
      return `input ${toHex("value" in subject ? subject.value.fingerprint : subject.fingerprint)}`;
    case undefined:
      return "nothing";
  }
}

/**
 * What an open wait is found by when the thing it waits for happens: its kind and the thing's name or number. Undefined for time, which
 * is found by the deadline of the task.
 */
export function subjectKey({ subject }: Pick<WaitDeclarationShape, "subject">): string | undefined {
  switch (subject.case) {
    case "proposal":
      return `proposal:${subject.value.proposal}`;
    case "child":
      return `child:${subject.value.obligation}`;
    case "obligation":
      return `obligation:${subject.value.obligation}`;
    case "signal":
      return `signal ${subject.value.signal}`;
    case "update":
      return `update ${subject.value.update}`;
    case "review":
      return `review:${subject.value.review}`;
    case "input":
      return `input ${subject.value.input}`;
    case "timer":
    case undefined:
      return undefined;
  }
}
