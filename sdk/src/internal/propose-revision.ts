import type { NewPlan, ProposeRevisionOptions, RecordedRevision } from "../plan-versions.js";
import { RecordMismatch } from "../workflow-errors.js";
import type { AttemptContextOptions } from "./attempt-context-options.js";
import { copyOf, messageOf, planDigest } from "./plan-versions.js";
import type { StepToMake } from "./steps.js";

/** A revision as the code asks for it. */
export interface RevisionCall {
  readonly name: string;
  readonly plan: NewPlan;
  readonly options: ProposeRevisionOptions;
}

/** What the kernel records under the name of a revision. */
interface Recorded {
  readonly planVersion: number;
  readonly planDigest: string;
}

/**
 * Revises the plan of the attempt's own run, once: it is a step, which the kernel records in the same commit as the revision. So whoever enters the code again is given
 * the same answer, whatever became of the plan since.
 *
 * @param makeStep Makes a step of the code.
 * @param attempt The attempt that the code is in now.
 */
export async function proposeRevision(
  makeStep: (step: StepToMake) => Promise<Recorded>,
  attempt: () => Pick<AttemptContextOptions, "port" | "lease" | "state">,
  { name, plan, options }: RevisionCall,
): Promise<RecordedRevision> {
  const { key, reason, expectedPlanVersion = 0 } = options;
  const sent = copyOf(messageOf(plan));
  const digest = planDigest(sent);
  const { planVersion, planDigest: recorded } = await makeStep({
    name,
    first: { durable: true, ...(key === undefined ? {} : { key }) },
    second: async (): Promise<Recorded> => {
      const { port, lease, state } = attempt();
      // Inside of a map a step has a longer name than the code gave it.
      const record = port.currentStep()?.step ?? name;
      const { seenThrough } = state;
      const revision = { record, key, seenThrough, plan: sent, reason, expectedPlanVersion };
      const made = await port.proposeRevision(lease, revision, state.signal);
      return { planVersion: made, planDigest: digest };
    },
    isRead: false,
  });
  if (recorded !== digest) {
    throw new RecordMismatch(
      `Expected revision "${name}" to be to the plan that is recorded under this name (SHA-256 ${recorded}), but it is to another one (${digest}). Give another name, or the same plan.`,
    );
  }
  return { planVersion };
}
