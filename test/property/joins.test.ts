import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import { inputNeeds } from "@pawl/server/core/joins.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import { runStatusName, taskStatusName } from "@pawl/server/core/transitions.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { attemptFailed, completed, leased } from "../core/support/events.js";
import { planOf, type TaskParts } from "../core/support/plans.js";
import { Scenario } from "../core/support/scenario.js";

type Rule = "skip" | "fail" | "continue";

/** A task as it is drawn: it needs only earlier ones, so that the order in which they are drawn is one of need. */
interface Drawn {
  readonly needs: readonly { readonly task: number; readonly rule: Rule }[];
  /** 0: all. */
  readonly atLeast: number;
}

/** What becomes of the tasks that are ready: which of them ends next, and how. */
interface End {
  readonly pick: number;
  readonly completes: boolean;
}

const rule = fc.constantFrom<Rule>("skip", "skip", "fail", "continue");

const tasks: fc.Arbitrary<Drawn[]> = fc
  .array(
    fc.record({
      needs: fc.array(fc.record({ back: fc.nat(7), rule }), { maxLength: 5 }),
      atLeast: fc.nat(5),
    }),
    { minLength: 2, maxLength: 10 },
  )
  .map((drawn) =>
    drawn.map(({ needs, atLeast }, number) => {
      const earlier = new Map(
        needs
          .filter(({ back }) => number - 1 - back >= 0)
          .map((need) => [number - 1 - need.back, need.rule]),
      );
      const found = [...earlier].map(([task, each]) => ({ task, rule: each }));
      return { needs: found, atLeast: atLeast > found.length ? 0 : atLeast };
    }),
  );

const ends: fc.Arbitrary<End[]> = fc.array(
  fc.record({ pick: fc.nat(9), completes: fc.boolean() }),
  { minLength: 10, maxLength: 10 },
);

/**
 * What joins mean, said as plainly as possible and without a line of the product: after each end every task is looked at anew, over and over, in the order of
 * need.
 */
class Model {
  readonly status: string[];
  readonly inputs: number[][];
  private readonly drawn: readonly Drawn[];

  constructor(drawn: readonly Drawn[]) {
    this.drawn = drawn;
    this.status = drawn.map(({ needs }) => (needs.length === 0 ? "READY" : "BLOCKED"));
    this.inputs = drawn.map(() => []);
  }

  end(task: number, completes: boolean): void {
    this.status[task] = completes ? "COMPLETED" : "FAILED";
    for (const [number, { needs, atLeast }] of this.drawn.entries()) {
      if (this.status[number] !== "BLOCKED") {
        continue;
      }
      const least = atLeast === 0 ? needs.length : atLeast;
      const isLost = (need: Drawn["needs"][number]): boolean =>
        ["FAILED", "SKIPPED"].includes(this.status[need.task] ?? "");
      const ended = needs.filter((need) => isLost(need) || this.status[need.task] === "COMPLETED");
      const lost = ended.filter((need) => isLost(need) && need.rule !== "continue");
      if (ended.length - lost.length >= least) {
        this.status[number] = "READY";
        this.inputs[number] = ended.map((need) => need.task).sort((one, other) => one - other);
      } else if (needs.length - lost.length < least) {
        this.status[number] = lost.some((need) => need.rule === "fail") ? "FAILED" : "SKIPPED";
      }
    }
  }

  /** How the run ends when all have: it fails by an end that nobody needs, or when its output did not come. */
  run(output: number): string {
    const isNeeded = (number: number): boolean =>
      this.drawn.some(({ needs }) => needs.some((need) => need.task === number));
    const hasFailed = this.status.some(
      (status, number) => status !== "COMPLETED" && (number === output || !isNeeded(number)),
    );
    return hasFailed ? "FAILED" : "COMPLETED";
  }
}

const rules = {
  skip: OnNeedFailure.SKIP,
  fail: OnNeedFailure.FAIL,
  continue: OnNeedFailure.CONTINUE,
} as const;

/** The same tasks as a plan, which names them in this order. */
function started(drawn: readonly Drawn[], order: readonly number[], output: number): Scenario {
  const parts = order.map((number): [string, TaskParts] => {
    const { needs, atLeast } = drawn[number] ?? { needs: [], atLeast: 0 };
    const named = needs.map((need) => [`t${need.task}`, rules[need.rule]] as const);
    return [
      `t${number}`,
      {
        needs: named.map(([name]) => name),
        join: { atLeast, rules: Object.fromEntries(named) },
      },
    ];
  });
  return Scenario.started(planOf(Object.fromEntries(parts), output < 0 ? "" : `t${output}`));
}

test("joins mean what a model without any of their code means, whatever ends in which order, also over rows", () => {
  fc.assert(
    fc.property(
      tasks.chain((drawn) =>
        fc.record({
          drawn: fc.constant(drawn),
          order: fc.shuffledSubarray([...drawn.keys()], { minLength: drawn.length }),
          output: fc.integer({ min: -1, max: drawn.length - 1 }),
          ends,
        }),
      ),
      ({ drawn, order, output, ends: wanted }) => {
        const model = new Model(drawn);
        const scenario = started(drawn, order, output);
        const place = (number: number): number => order.indexOf(number);
        const compare = (): void => {
          const run = scenario.state;
          const statuses = drawn.map((_, number) =>
            taskStatusName(run.tasks[place(number)]?.status ?? 0),
          );
          expect(statuses).toEqual(model.status);
          for (const [number, inputs] of model.inputs.entries()) {
            const task = run.tasks[place(number)];
            const spec = run.plan.tasks[place(number)];
            if (task !== undefined && spec !== undefined && inputs.length > 0) {
              const given = inputNeeds(run, task, spec).map((need) => order[need] ?? -1);
              expect(given.sort((one, other) => one - other)).toEqual(inputs);
            }
          }
          const chunk = { count: 1, hash: new Uint8Array(32) };
          expect(restoreRun(splitRows(run, chunk), compileRecordedPlan)).toEqual(run);
        };
        compare();
        for (const { pick, completes } of wanted) {
          const ready = model.status.flatMap((status, number) =>
            status === "READY" ? [number] : [],
          );
          const next = ready[pick % Math.max(1, ready.length)];
          if (next === undefined) {
            break;
          }
          const task = place(next);
          scenario.given(leased(task, 1));
          scenario.commit([completes ? completed(task, 1) : attemptFailed(task, 1)]);
          model.end(next, completes);
          compare();
        }
        expect(runStatusName(scenario.state.status)).toBe(model.run(output));
      },
    ),
    { numRuns: 400 },
  );
});
