import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import type { ProvideInput } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import { equalBytes } from "../identity/content-digest.js";
import { encodeUtf8 } from "../identity/utf8.js";
import {
  fingerprintConflict,
  illegalTransition,
  notFound,
  type Rejection,
  staleVersion,
} from "../rejection.js";
import type { Input, Run } from "../state.js";
import { inputStatusName } from "../transitions.js";
import { endWait, isDue } from "./end-waits.js";

/**
 * Answers or declines an input request, and wakes the task that asked. Refusals, in order: no request, another answer than the recorded one,
 * expired or withdrawn, stale version. The same answer again is answered `existing`. Whether it meets the schema was checked at the door.
 */
export function decideProvideInput(run: Run, command: ProvideInput, ctx: DecideContext): Decision {
  const input = run.inputs[command.input];
  const wait = input === undefined ? undefined : run.waits[input.wait];
  if (input === undefined || wait === undefined || command.incarnation !== run.incarnation) {
    return reject(notFound("input", `${command.input}`));
  }
  if (input.status === InputStatus.ANSWERED) {
    return isSame(input, command) ? acceptExisting() : reject(otherAnswer(input, command, ctx));
  }
  if (input.status !== InputStatus.OPEN || isDue(wait.declaration.dueAtMs, ctx.nowMs)) {
    const status = input.status === InputStatus.OPEN ? InputStatus.EXPIRED : input.status;
    const parts = {
      entity: "input",
      status: inputStatusName(status),
      command: "ProvideInput",
      legal: [],
    };
    return reject(illegalTransition("PAWL_ILLEGAL_TRANSITION", parts));
  }
  if (command.expectedVersion !== input.version) {
    return reject(staleVersion("input", command.expectedVersion, input.version));
  }
  return accept([
    {
      case: "inputAnswered",
      value: { input: input.number, answer: command.answer, principal: ctx.principal },
    },
    endWait(wait, { case: "inputGiven", value: {} }),
  ]);
}

function isSame(input: Input, { answer }: ProvideInput): boolean {
  return answer.case === "declined"
    ? input.declined === answer.value
    : input.answer !== undefined && equalBytes(input.answer, answer.value);
}

function otherAnswer(input: Input, { answer }: ProvideInput, ctx: DecideContext): Rejection {
  const recorded = input.answer ?? encodeUtf8(input.declined ?? "");
  const received = answer.case === "given" ? answer.value : encodeUtf8(answer.value);
  return fingerprintConflict({
    entity: "input",
    id: `${input.number}`,
    recorded: ctx.sha256(recorded),
    received: ctx.sha256(received),
    differs: "answer",
  });
}
