import {
  type Review,
  type ReviewChoice,
  ReviewChoiceSchema,
  ReviewSubjectSchema,
} from "@pawl/proto/v1/review_pb.js";
import { enumWord } from "./enum-word.js";
import { principalName } from "./principal.js";
import type { Style } from "./style.js";
import { clean, sentence } from "./text.js";
import { type Clock, formatTime } from "./time.js";

/** The words by which a choice is given on the command line. */
export function choiceWords(review: Review): string[] {
  return review.choices.map(choiceWord);
}

/** The word by which one choice is given on the command line. */
export function choiceWord(choice: ReviewChoice): string {
  return enumWord(ReviewChoiceSchema, choice).toLowerCase().replaceAll("_", "-");
}

/** One sentence: which review, about what, and whether it waits. */
export function reviewHeadline(review: Review, style: Style): string {
  const subject = enumWord(ReviewSubjectSchema, review.subject).toLowerCase();
  const id = style("bold", clean(review.reviewId));
  if (review.resolvedAt === undefined) {
    return `Review ${id} of ${aOrAn(subject)} ${style("attention", "waits for a person")}.`;
  }
  const choice = choiceWord(review.resolution);
  return `Review ${id} of ${aOrAn(subject)} was resolved: ${style("good", choice)}.`;
}

/** What else is known of a review, by name. */
export function reviewFields(
  review: Review,
  clock: Clock,
): (readonly [string, string | undefined])[] {
  const { resolvedAt } = review;
  return [
    ["known", sentence(review.known)],
    ["run", review.runId],
    ["task", review.task],
    ["operation", review.operationKey],
    ["attempts", review.attempts === 0 ? undefined : `${review.attempts}`],
    ["failures", failuresText(review, clock)],
    ["opened", formatTime(review.openedAt, clock)],
    ["resolved", resolvedAt === undefined ? undefined : formatTime(resolvedAt, clock)],
    ["by", principalName(review.resolvedBy)],
    ["reason", review.reason],
    ["choices", resolvedAt === undefined ? choiceWords(review).join(", ") : undefined],
    ["version", `${review.version}`],
  ];
}

function failuresText({ failures }: Review, clock: Clock): string | undefined {
  if (failures.length === 0) return undefined;
  return failures
    .map(({ attempt, worker, kind, message, at }) =>
      clean(`attempt ${attempt} at "${worker}", ${formatTime(at, clock)}: ${kind}: ${message}`),
    )
    .join("; ");
}

function aOrAn(noun: string): string {
  return `${/^[aeio]/.test(noun) ? "an" : "a"} ${noun}`;
}
