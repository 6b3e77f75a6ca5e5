import { invalidField, type Rejection } from "../rejection.js";

/** A bad value in a plan. */
export class PlanProblem extends Error {
  readonly rejection: Rejection;
  constructor(field: string, expected: string, actual: string) {
    super(field);
    this.rejection = invalidField(field, expected, actual);
  }
}
