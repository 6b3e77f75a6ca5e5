/** What a command is to whoever reads of it, as a noun: nobody knows the names of commands. */
const words: Readonly<Record<string, string>> = {
  StartRun: "a start",
  PauseRun: "a pause",
  ResumeRun: "a resumption",
  CancelRun: "a cancellation",
  TerminateRun: "termination",
  SendSignal: "a signal",
  UpdateRun: "an update",
  ContinueRun: "a continuation as new",
  ExpireRun: "its timeout",
  RewindRun: "a rewind",
  RetryRun: "a retry",
  ProvideInput: "an answer",
  ChangeTask: "a change by hand",
  ProposeAction: "a proposal",
  IntendOperation: "an effect",
  ObserveOperation: "the outcome of an effect",
  ReconcileOperation: "a look-up of an effect",
  RecordStep: "a step",
  CallTasks: "a call of a task",
  SuspendTask: "a wait",
  MakeObligation: "a message to another run",
  LeaseTask: "an attempt",
  EndChild: "the end of a child run",
  RevisePlan: "a revision of its plan",
  DeleteRun: "a deletion",
  ChangeLegalHold: "a change of its legal hold",
};

/** The words for a command, by its kind. A phrase that is no kind stays. */
export function wordsOf(command: string): string {
  if (Object.hasOwn(words, command)) return words[command] ?? command;
  return /^[A-Z][a-z]+[A-Z]/.test(command) ? "what was asked" : command;
}
