import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { isUnstarted } from "../children.js";
import { isKernels, type Obligation, obligationIdentity, type Run } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { breaches, type Rule, type Violation, violation } from "./violation.js";

/** Violations of obligations, and of what finds them. */
export function findObligationViolations(run: Run): Violation[] {
  const present = run.obligations.filter(
    ({ earlier, declaration }) => !earlier && !isKernels(declaration),
  ).length;
  const children = run.obligations.filter(isOpenChild).length;
  const open = run.obligations.filter(({ status }) => status === ObligationStatus.OPEN).length;
  return [
    ...breaches("run", [
      [
        run.obligationsByIdentity.size === present,
        `${present} obligations in the index`,
        `${run.obligationsByIdentity.size}`,
      ],
      [
        run.openObligations.size === open,
        `${open} obligations open`,
        `${run.openObligations.size}`,
      ],
      [
        run.openChildren.size <= children,
        `at most ${children} open children`,
        `${run.openChildren.size}`,
      ],
      [
        [...run.strayChildren].every((number) => run.openChildren.has(number)),
        "strays among the open children",
        `${[...run.strayChildren]}`,
      ],
      [
        run.kind === "run" || run.obligations.length === 0,
        "no obligation in a ledger",
        `${run.obligations.length}`,
      ],
    ]),
    ...run.obligations.flatMap((obligation, number) =>
      breaches(`obligation ${number}`, rulesOfObligation(run, obligation, number)),
    ),
  ];
}

function rulesOfObligation(run: Run, obligation: Obligation, number: number): Rule[] {
  const { declaration, status, settledAtMs, settledEvent, madeEvent, earlier } = obligation;
  const isOpen = status === ObligationStatus.OPEN;
  const indexed = run.obligationsByIdentity.get(obligationIdentity(declaration));
  return [
    [obligation.number === number, `number ${number}`, `${obligation.number}`],
    [
      earlier || isKernels(declaration) || indexed === number,
      "its number in the index",
      declaration.name,
    ],
    [
      run.openObligations.has(number) === isOpen,
      "a place among the open exactly while it is",
      `${status}`,
    ],
    [isOpen === (settledAtMs === 0), "an answer exactly when it is settled", `${settledAtMs}`],
    [isOpen === (settledEvent === 0), "an answer with its event", `${settledEvent}`],
    [
      madeEvent >= 1 && settledEvent <= run.eventCount && (isOpen || settledEvent > madeEvent),
      "events in their order",
      `${madeEvent}, ${settledEvent}`,
    ],
    [
      earlier === madeEvent < run.begunAtEvent,
      "to be of an earlier incarnation when that made it",
      `${madeEvent}`,
    ],
    [
      earlier || isKernels(declaration) || run.tasks[declaration.task] !== undefined,
      "a task of the run",
      `${declaration.task}`,
    ],
    [declaration.order.case !== undefined, "an order", "none"],
    [
      !earlier || isOpen || declaration.order.case !== "signal" || !hasContent(declaration.order),
      "no content once nobody asks for it",
      "it has",
    ],
  ];
}

/** A child that was started and has not ended, or may be yet. */
function isOpenChild(obligation: Obligation): boolean {
  const { declaration, ended } = obligation;
  return declaration.order.case === "child" && ended === undefined && !isUnstarted(obligation);
}

function hasContent(
  order: Extract<Obligation["declaration"]["order"], { case: "signal" }>,
): boolean {
  return order.value.payload !== undefined;
}

/** What is left to be done between commands: a wait for an answer that is there, a child to end, an end to tell. */
export function findUnheardAnswers(run: Run): Violation[] {
  const strays = [...run.strayChildren].map((number) =>
    violation(`obligation ${number}`, "an end with that of its parent", "nobody saw to it"),
  );
  const isUntold = run.parent !== undefined && !isRunOpen(run.status) && !run.toldParent;
  const untold = isUntold
    ? [violation("run", "its parent to be told of its end", "it is not")]
    : [];
  const unheard = run.obligations
    .filter(
      ({ number, settledEvent }) =>
        settledEvent !== 0 && run.openWaitsBySubject.has(`obligation:${number}`),
    )
    .map(({ number }) =>
      violation(`obligation ${number}`, "no wait for an answer that is there", "there is one"),
    );
  return [...strays, ...untold, ...unheard];
}
