import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import type { MutableInput, MutableRun, MutableWait } from "../state.js";
import { inputStatusName, inputTransitions, isLegal } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import { keepBytes } from "./keep.js";

/** A task began to wait for an answer. */
export function openInput(run: MutableRun, wait: MutableWait): void {
  const { subject } = wait.declaration;
  if (subject.case !== "input") {
    return;
  }
  if (subject.value.input !== run.inputs.length) {
    throw new CorruptHistory(
      `input request ${run.inputs.length} to be opened next`,
      `it is ${subject.value.input}`,
    );
  }
  run.inputs.push({
    number: run.inputs.length,
    wait: wait.number,
    status: InputStatus.OPEN,
    version: 1,
    answer: undefined,
    declined: undefined,
    principal: "",
    closedAtMs: 0,
  });
}

/** An input request was answered or declined. */
export function applyInputAnswered(
  run: MutableRun,
  event: EventValue<"inputAnswered">,
  meta: EventMeta,
): void {
  const input = run.inputs[event.input];
  if (input === undefined) {
    throw new CorruptHistory(
      `an input request ${event.input} in run "${run.runId}"`,
      `it has ${run.inputs.length}`,
    );
  }
  moveInput(input, InputStatus.ANSWERED, meta);
  const { answer } = event;
  input.answer = answer.case === "given" ? keepBytes(answer.value) : undefined;
  input.declined = answer.case === "declined" ? answer.value : undefined;
  input.principal = event.principal;
}

/** The wait for an answer is over without one: the request ends with it. */
export function endInput(
  run: MutableRun,
  wait: MutableWait,
  to: typeof InputStatus.EXPIRED | typeof InputStatus.WITHDRAWN,
  meta: EventMeta,
): void {
  const { subject } = wait.declaration;
  const input = subject.case === "input" ? run.inputs[subject.value.input] : undefined;
  if (input?.status === InputStatus.OPEN) {
    moveInput(input, to, meta);
  }
}

function moveInput(input: MutableInput, to: InputStatus, meta: EventMeta): void {
  if (!isLegal(inputTransitions, input.status, to)) {
    throw new CorruptHistory(
      `a state that may follow ${inputStatusName(input.status)} for input request ${input.number}`,
      `it is ${inputStatusName(to)}`,
    );
  }
  input.status = to;
  input.version++;
  input.closedAtMs = meta.atMs;
}
