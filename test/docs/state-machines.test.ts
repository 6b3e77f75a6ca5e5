import {
  inputStatusName,
  inputTransitions,
  obligationStatusName,
  obligationTransitions,
  operationStatusName,
  operationTransitions,
  proposalStatusName,
  proposalTransitions,
  runStatusName,
  runTransitions,
  type TransitionTable,
  taskStatusName,
  taskTransitions,
} from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import { readFences, readTable } from "./support/markdown.js";
import { pageAt } from "./support/pages.js";

const page = pageAt("docs/concepts/state-machines.md");

function pairs<S extends number>(
  table: TransitionTable<S>,
  nameOf: (status: S) => string,
): string[] {
  return [...table].flatMap(([from, next]) => next.map((to) => `${nameOf(from)} → ${nameOf(to)}`));
}

function finals<S extends number>(
  table: TransitionTable<S>,
  nameOf: (status: S) => string,
): string[] {
  return [...table].filter(([, next]) => next.length === 0).map(([status]) => nameOf(status));
}

/** The transitions in the diagram of an entity, in the order of the page. */
function drawn(index: number): string[] {
  const diagrams = readFences(page).filter(({ language }) => language === "mermaid");
  return [...(diagrams[index]?.text ?? "").matchAll(/^ *(\w+) --> (\w+)$/gm)].map(
    ([, from, to]) => `${from} → ${to}`,
  );
}

const entities = [
  {
    heading: "Task",
    allowed: pairs(taskTransitions, taskStatusName),
    final: finals(taskTransitions, taskStatusName),
  },
  {
    heading: "Run",
    allowed: pairs(runTransitions, runStatusName),
    final: finals(runTransitions, runStatusName),
  },
  {
    heading: "Operation",
    allowed: pairs(operationTransitions, operationStatusName),
    final: finals(operationTransitions, operationStatusName),
  },
  {
    heading: "Proposal",
    allowed: pairs(proposalTransitions, proposalStatusName),
    final: finals(proposalTransitions, proposalStatusName),
  },
  {
    heading: "Input request",
    allowed: pairs(inputTransitions, inputStatusName),
    final: finals(inputTransitions, inputStatusName),
  },
  {
    heading: "Obligation",
    allowed: pairs(obligationTransitions, obligationStatusName),
    final: finals(obligationTransitions, obligationStatusName),
  },
];

describe("docs/concepts/state-machines.md", () => {
  it.each(entities)("$heading: has every transition once, and no other", ({ heading, allowed }) => {
    const rows = readTable(page, `## ${heading}`);
    const told = rows.map(([from, to]) => `${from} → ${to}`.replaceAll("`", ""));
    expect(told.toSorted()).toEqual(allowed.toSorted());
    for (const [, , when] of rows) expect(when).toMatch(/\w{4}/);
  });

  it.each(entities.map((entity, index) => ({ ...entity, index })))(
    "$heading: draws the same",
    ({ allowed, index }) => {
      expect(drawn(index).toSorted()).toEqual(allowed.toSorted());
    },
  );

  it("names what is final", () => {
    for (const { heading, final } of entities.filter((each) => each.heading !== "Run")) {
      const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
      const [list = ""] = /(?:`\w+`,? ?(?:and )?)+are\s+final/.exec(section) ?? [];
      const named = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
      expect(named.toSorted()).toEqual(final.toSorted());
    }
  });
});
