import type { InputRequest } from "@pawl/proto/v1/input_pb.js";
import type { SignalAnswer } from "./messages.js";

export type { InputRequest } from "@pawl/proto/v1/input_pb.js";

/** Which input requests are listed. */
export interface InputFilter {
  /** Only those of this run. Default: all. */
  readonly runId?: string;
  /** Only those for this addressee. Default: all. */
  readonly addressee?: string;
}

/** What tasks ask people. */
export interface Inputs {
  /** The open requests, oldest first. */
  list(filter?: InputFilter): AsyncIterable<InputRequest>;
  /** Reads one, with its answer. @throws NotFound */
  get(inputId: string): Promise<InputRequest>;
  /**
   * Answers a request. The same answer again changes nothing.
   *
   * @param expectedVersion Version that was looked at.
   * @throws Rejected `PAWL_ANSWER_REFUSED` for an answer that its schema refuses; Conflict when it was answered otherwise; NotFound.
   */
  provide(inputId: string, answer: unknown, expectedVersion: number): Promise<SignalAnswer>;
  /** Declines to answer; the task goes on and sees the reason. */
  decline(inputId: string, reason: string, expectedVersion: number): Promise<SignalAnswer>;
}
