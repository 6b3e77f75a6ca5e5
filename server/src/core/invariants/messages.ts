import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import {
  type Input,
  keptKey,
  type Run,
  type Signal,
  signalBytes,
  signalRequest,
} from "../state.js";
import { breaches, type Rule, type Violation, violation } from "./violation.js";

/** Violations of signals and input requests. */
export function findMessageViolations(run: Run): Violation[] {
  const kept = run.signals.filter(({ takenBy }) => takenBy === undefined);
  const bytes = kept.reduce((sum, signal) => sum + signalBytes(signal), 0);
  const indexed = [...run.keptSignals.values()].reduce((sum, of) => sum + of.length, 0);
  const taken = run.signals.flatMap(({ takenBy }) => (typeof takenBy === "number" ? takenBy : []));
  return [
    ...breaches("run", [
      [run.keptSignalCount === kept.length, `${kept.length} kept`, `${run.keptSignalCount}`],
      [indexed === kept.length, `${kept.length} kept by name`, `${indexed}`],
      [run.keptSignalBytes === bytes, `${bytes} bytes kept`, `${run.keptSignalBytes}`],
      [
        run.signalsByRequest.size === run.signals.length,
        `${run.signals.length} requests of signals`,
        `${run.signalsByRequest.size}`,
      ],
      [new Set(taken).size === taken.length, "each signal at one wait, each wait one", `${taken}`],
    ]),
    ...run.signals.flatMap((signal, number) =>
      breaches(`signal ${number}`, rulesOfSignal(run, signal, number)),
    ),
    ...run.inputs.flatMap((input, number) =>
      breaches(`input ${number}`, rulesOfInput(run, input, number)),
    ),
  ];
}

function rulesOfSignal(run: Run, signal: Signal, number: number): Rule[] {
  const { takenBy } = signal;
  const outcome = typeof takenBy === "number" ? run.waits[takenBy]?.ended?.outcome : undefined;
  return [
    [signal.number === number, `number ${number}`, `${signal.number}`],
    [
      run.signalsByRequest.get(signalRequest(signal)) === number,
      "its number by its request",
      signalRequest(signal),
    ],
    [
      (run.keptSignals.get(keptKey(signal))?.includes(number) ?? false) === (takenBy === undefined),
      "a place among the kept exactly while nothing took it",
      `${takenBy}`,
    ],
    [
      typeof takenBy !== "number" ||
        (outcome?.case === "signalTaken" && outcome.value.signal === number),
      "the wait that took it to say so",
      `${outcome?.case}`,
    ],
    [
      takenBy !== "earlier" || signal.payload === undefined,
      "no content once an earlier incarnation took it",
      "it has",
    ],
    [
      signal.answer === undefined || (signal.update && takenBy !== undefined),
      "no answer unless it is an update that was taken",
      `taken by ${takenBy}`,
    ],
    [
      signal.answer === undefined ||
        signal.answer.result === undefined ||
        signal.answer.refused === undefined,
      "a result or a refusal, not both",
      "both",
    ],
  ];
}

function rulesOfInput(run: Run, input: Input, number: number): Rule[] {
  const subject = run.waits[input.wait]?.declaration.subject;
  const isOpen = input.status === InputStatus.OPEN;
  const isAnswered = input.status === InputStatus.ANSWERED;
  return [
    [input.number === number, `number ${number}`, `${input.number}`],
    [
      subject?.case === "input" && subject.value.input === number,
      "a wait that names it",
      `${subject?.case}`,
    ],
    [input.version === (isOpen ? 1 : 2), "version 1 while open, then 2", `${input.version}`],
    [isOpen === (input.closedAtMs === 0), "an end exactly when it is over", `${input.closedAtMs}`],
    [
      isAnswered === (input.answer !== undefined || input.declined !== undefined),
      "an answer exactly when it is ANSWERED",
      `${input.status}`,
    ],
  ];
}

/** What is left to be done between commands: a kept signal beside a wait for it, a request whose wait stands otherwise. */
export function findUnfinishedMessages(run: Run): Violation[] {
  const idle = [...run.keptSignals.keys()]
    .filter((key) => run.openWaitsBySubject.has(key))
    .map((key) => violation("run", `no kept ${key} beside a wait for it`, "there is"));
  const apart = run.inputs
    .filter((input) => {
      const isOpen = run.waits[input.wait]?.closedAtMs === 0;
      return isOpen !== (input.status === InputStatus.OPEN);
    })
    .map(({ number }) =>
      violation(`input ${number}`, "to be open as long as its wait", "it is not"),
    );
  return [...idle, ...apart];
}
