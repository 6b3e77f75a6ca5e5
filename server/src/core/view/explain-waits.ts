import { nameOfTask } from "../plan/tasks-of-run.js";
import type { Run, Task, Wait } from "../state.js";
import { explainAwaited } from "./explain-proposal.js";
import { explainOperationReview } from "./explain-review.js";
import { formatLength } from "./format-length.js";

/** Most waits that are told. */
const waitsMax = 3;

/** What a suspended task waits for, as the rest of a sentence that begins with its name. */
export function explainWaits(run: Run, task: Task, nowMs: number, runNumber: number): string {
  const open = task.openWaits.flatMap((number) => run.waits[number] ?? []);
  const told = open.slice(0, waitsMax).map((wait) => explainOne(run, wait, nowMs, runNumber));
  const rest = open.length > waitsMax ? ` or for ${open.length - waitsMax} more` : "";
  const calls = explainCalls(run, task);
  return `waits ${[...told, ...calls].join(" or ")}${rest}`;
}

/** The tasks that it called and that are open. */
function explainCalls(run: Run, { calls }: Task): string[] {
  if (calls === undefined || calls.open.size === 0) {
    return [];
  }
  const names: string[] = [];
  for (const number of calls.open) {
    if (names.push(`"${nameOfTask(run, number)}"`) === waitsMax) {
      break;
    }
  }
  const more = calls.open.size > waitsMax ? ` and ${calls.open.size - waitsMax} more` : "";
  const what = calls.open.size === 1 ? "task" : "tasks";
  return [`for ${what} ${names.join(", ")}${more}, which it called`];
}

function explainOne(run: Run, { declaration }: Wait, nowMs: number, runNumber: number): string {
  const { name, key, dueAtMs, subject } = declaration;
  const named = `"${key === undefined ? name : `${name}/${key}`}"`;
  const left = formatLength(dueAtMs - nowMs);
  switch (subject.case) {
    case "timer":
      return `${left} for timer ${named}`;
    case "proposal": {
      const proposal = run.proposals[subject.value.proposal];
      return proposal === undefined
        ? `for ${named}`
        : `for ${explainAwaited(proposal, nowMs, runNumber)}`;
    }
    case "child": {
      const { runId = "" } = run.obligations[subject.value.obligation]?.declaration ?? {};
      return `until its child "${runId}" has ended`;
    }
    case "obligation": {
      const { runId = "" } = run.obligations[subject.value.obligation]?.declaration ?? {};
      return `until run "${runId}" has answered`;
    }
    case "review":
      return `for a person: ${explainOperationReview(run, subject.value.review)}`;
    case "signal":
      return `for signal "${subject.value.signal}"${dueAtMs === 0 ? "" : ` (at most ${left})`}`;
    case "update":
      return `for update "${subject.value.update}"${dueAtMs === 0 ? "" : ` (at most ${left})`}`;
    case "input": {
      const { addressee, question } = subject.value;
      const from = addressee === "" ? "" : ` of ${addressee}`;
      return `for an answer${from} to "${cut(question)}"${dueAtMs === 0 ? "" : ` (at most ${left})`}`;
    }
    case undefined:
      return `for ${named}`;
  }
}

/** Most of a question that is quoted, in UTF-16 code units. */
const quotedMax = 120;

/** Never cuts a surrogate pair in half. */
function cut(text: string): string {
  return text.length <= quotedMax
    ? text
    : `${text.slice(0, quotedMax).replace(/[\ud800-\udbff]$/, "")}…`;
}
