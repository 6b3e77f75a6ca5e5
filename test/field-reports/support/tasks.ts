import { json, type Task, task } from "@pawl/sdk";

/** The task that worker processes serve: what it does is theirs. Leases are short, but no shorter than a busy machine keeps. */
export const job: Task<string, string, string, string> = task("job", {
  input: json<string>(),
  output: json<string>(),
  timeouts: { lease: "2s" },
  retry: { attempts: 3, initial: "0ms" },
});

/** The same with leases that outlive a restart of the kernel. */
export const longJob: Task<string, string, string, string> = task("long-job", {
  input: json<string>(),
  output: json<string>(),
  timeouts: { lease: "20s" },
  retry: { attempts: 3, initial: "0ms" },
});

/** The same, whose workers may be lost three times in a row before a person is asked, however many attempts are left. */
export const riskyJob: Task<string, string, string, string> = task("risky-job", {
  input: json<string>(),
  output: json<string>(),
  timeouts: { lease: "2s" },
  retry: { attempts: 20, initial: "0ms", workerLosses: 3 },
});
