/**
 * Every bound of the kernel, with its unit in its name. The relations between them are asserted by
 * `test/core/limits.test.ts`.
 */
export const limits = {
  /** Ids and names, in bytes of UTF-8. */
  idBytesMax: 200,
  /** Target of an operation, in bytes of UTF-8. */
  targetBytesMax: 1024,
  /** Intent ids, in bytes of UTF-8. */
  intentIdBytesMax: 64,
  /** Reasons that people give, in bytes of UTF-8. */
  reasonBytesMax: 1000,
  /** Content kept in events and rows; more goes to blobs. */
  inlineBytesMax: 32_768,
  /** One message on the wire, both ways. */
  messageBytesMax: 4_194_304,
  /** One segment of the log; a turn that is larger is split. */
  segmentBytesMax: 1_048_576,
  /** A plan, encoded. */
  planBytesMax: 524_288,
  /** Tasks of a plan. */
  planTasksMax: 5000,
  /** Versions of the plan of one run. */
  planVersionsMax: 1_000,
  /** All versions of the plan of one run together, encoded. */
  planVersionBytesMax: 16_777_216,
  /** Tasks of one run that a version of its plan has or had. */
  planTasksInAllMax: 15_000,
  /** Tasks of one run that others called. */
  calledTasksMax: 50_000,
  /** Items of a batch. */
  batchItemsMax: 1000,
  /** Namespaces of a store, `default` among them. */
  namespacesMax: 1000,
  /** Workflows of a store that have a current version, or had one. */
  versionedWorkflowsMax: 5000,
  /** Labels of a run. */
  labelsMax: 32,
  /** A failure, encoded. */
  failureBytesMax: 16_384,
  /** Times that one run may begin once more within 24 hours. */
  restartsPerDayMax: 256,
  /** How often one incarnation of a run may go on from an earlier point. */
  rewindsMax: 100,
  /** Steps of one run. */
  stepsMax: 100_000,
  /** Waits of one run, those included that have ended. */
  waitsMax: 100_000,
  /** Waits of one task that are open at a time. */
  openWaitsMax: 5_000,
  /** Signals and updates of one run and its earlier incarnations, those included that were taken. */
  signalsMax: 100_000,
  /** Signals and updates of one run that no task has taken yet. */
  keptSignalsMax: 1_000,
  /** What those may take together. */
  keptSignalBytesMax: 1_048_576,
  /** Names under which the code of one run publishes values. */
  publishedNamesMax: 100,
  /** One such value, encoded. */
  publishedValueBytesMax: 32_768,
  /** What the last value of each name may take together. */
  publishedBytesMax: 1_048_576,
  /** The question of an input request, in bytes of UTF-8. */
  questionBytesMax: 4_000,
  /** The JSON Schema of an input request. */
  schemaBytesMax: 16_384,
  /** An answer that a schema is to check. */
  checkedAnswerBytesMax: 262_144,
  /** Obligations of one run and its earlier incarnations, those included that were answered. */
  obligationsMax: 100_000,
  /** Operations of one run. */
  operationsMax: 100_000,
  /** Channels of live output under one lease. */
  outputChannelsMax: 64,
  /** Live output that is kept of one task, in memory. */
  outputTaskBytesMax: 1_048_576,
  /** Chunks of it. */
  outputTaskChunksMax: 10_000,
  /** Live output that is kept of all tasks together. */
  outputBytesMax: 67_108_864,
  /** Places that a reader of live output may name. */
  outputPlacesMax: 1_000,
  /** How long live output is kept when no lease is live any more. */
  outputKeptMs: 60_000,
  /** An offer must be acknowledged within this time. */
  offerAckMs: 5_000,
  /** Unacknowledged offers in a row that count as one attempt. */
  unacknowledgedOffersMax: 5,
  /** After a restart no open lease ends earlier than this after readiness. */
  restartLeaseMs: 10_000,
  /** Default lease. */
  leaseMsDefault: 30_000,
  /** Shortest lease. */
  leaseMsMin: 1_000,
  /** Longest lease. */
  leaseMsMax: 86_400_000,
  /** Longest timeout of a task: 10 years. */
  timeoutMsMax: 315_360_000_000,
  /** Longest time for which something is kept, but for ever: 100 years. */
  keepMsMax: 3_153_600_000_000,
  /** Default grace after cancellation. */
  cancelGraceMsDefault: 10_000,
  /** Default attempts in all. */
  attemptsMaxDefault: 5,
  /** Most attempts a policy may allow. */
  attemptsMaxMax: 10_000,
  /** Default of attempts in a row that may lose their worker before a person is asked. */
  workerLossesMaxDefault: 5,
  /** Failed attempts of a task that are kept for people, in few words. */
  failureNotesMax: 5,
  /** Message of such a failure, in UTF-16 code units. */
  failureNoteLengthMax: 500,
  /** Default first backoff. */
  backoffInitialMsDefault: 1_000,
  /** Longest first backoff. */
  backoffInitialMsMax: 86_400_000,
  /** Longest backoff: 30 days. */
  backoffMsMax: 2_592_000_000,
  /** Default time in which a call sent in time may still take effect. */
  settleMsDefault: 5_000,
  /** Longest settle time. */
  settleMsMax: 86_400_000,
  /** Default length of a call. */
  callTimeoutMsDefault: 30_000,
  /** Longest call. */
  callTimeoutMsMax: 86_400_000,
  /** Look-ups in a row that cannot tell before a person is asked. */
  lookUpsMax: 5,
  /** Wait after the first look-up that could not tell; doubles each time. */
  lookUpBackoffMs: 1_000,
  /** Proposals of one run. */
  proposalsMax: 10_000,
  /** Principals and roles that may decide about one proposal. */
  deciderNamesMax: 20,
  /** Approvals that a proposal may need. */
  approvalsNeedMax: 20,
  /** Decisions that are kept about one proposal. */
  decisionsMax: 100,
  /** How long a proposal may be decided and used, unless it says so: 7 days. */
  proposalMsDefault: 604_800_000,
  /** Guards of one proposal. */
  guardsMax: 32,
  /** Value of a guard, in bytes of UTF-8. */
  guardValueBytesMax: 1024,
  /** Title of a proposal, in bytes of UTF-8. */
  displayTitleBytesMax: 200,
  /** Note of a proposal, in bytes of UTF-8. */
  displayNoteBytesMax: 4000,
  /** Facts shown with a proposal. */
  displayFieldsMax: 32,
  /** Longest wait of a unary call. */
  waitMsMax: 50_000,
} as const;
