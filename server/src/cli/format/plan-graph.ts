import { OnNeedFailure, type Plan, type PlanTask } from "@pawl/proto/v1/plan_pb.js";
import { clean } from "./text.js";

/** In what a plan can be drawn: languages of well-kept programs that lay graphs out. */
export const graphLanguages = ["mermaid", "dot"] as const;

/** One of them. */
export type GraphLanguage = (typeof graphLanguages)[number];

/** The graph of a plan in that language. */
export function drawPlan(plan: Plan, language: GraphLanguage): string[] {
  return language === "mermaid" ? drawMermaid(plan) : drawDot(plan);
}

/** What a task waits for, in words; empty when it waits for all that it needs. */
export function joinWords({ needs, join }: PlanTask): string {
  const count = join?.atLeast ?? 0;
  return count === 0 || count === needs.length
    ? ""
    : count === 1
      ? `any of ${needs.length}`
      : `at least ${count} of ${needs.length}`;
}

/** What it means to a task that a need of it fails: `skip`, `fail` or `continue`. */
export function ruleWord({ join }: PlanTask, need: string): "skip" | "fail" | "continue" {
  const rule = join?.rules.find(({ task }) => task === need)?.onFailure;
  if (rule === OnNeedFailure.FAIL) return "fail";
  return rule === OnNeedFailure.CONTINUE ? "continue" : "skip";
}

function labelLines(task: PlanTask, output: string): string[] {
  const kind = task.kind === task.name ? "" : task.kind;
  const words = [joinWords(task), task.name === output ? "output" : ""].filter(
    (word) => word !== "",
  );
  return [task.name, kind, words.join(", ")].filter((line) => line !== "").map(clean);
}

function drawMermaid({ tasks, output }: Plan): string[] {
  const ids = new Map(tasks.map(({ name }, number) => [name, `t${number}`]));
  const edges = { skip: "-->", fail: "-->|fail|", continue: "-.->|continue|" } as const;
  return [
    "flowchart TD",
    ...tasks.map((task) => {
      const label = labelLines(task, output).map(escapeMermaid).join("<br/>");
      const [open, close] = task.name === output ? ["([", "])"] : ["[", "]"];
      return `  ${ids.get(task.name)}${open}"${label}"${close}`;
    }),
    ...tasks.flatMap((task) =>
      task.needs.map(
        (need) => `  ${ids.get(need)} ${edges[ruleWord(task, need)]} ${ids.get(task.name)}`,
      ),
    ),
  ];
}

/** Mermaid reads entities by number. */
function escapeMermaid(text: string): string {
  return text.replace(/["#<>&;\\`]/g, (character) => `#${character.codePointAt(0)};`);
}

function drawDot({ tasks, output }: Plan): string[] {
  const edges = {
    skip: "",
    fail: ' [label="fail"]',
    continue: ' [label="continue", style=dashed]',
  } as const;
  return [
    "digraph plan {",
    "  node [shape=box];",
    ...tasks.map((task) => {
      const label = labelLines(task, output).map(escapeDot).join("\\n");
      const style = task.name === output ? ", peripheries=2" : "";
      return `  ${quoteDot(task.name)} [label="${label}"${style}];`;
    }),
    ...tasks.flatMap((task) =>
      task.needs.map(
        (need) => `  ${quoteDot(need)} -> ${quoteDot(task.name)}${edges[ruleWord(task, need)]};`,
      ),
    ),
    "}",
  ];
}

function quoteDot(name: string): string {
  return `"${escapeDot(clean(name))}"`;
}

function escapeDot(text: string): string {
  return text.replace(/["\\]/g, "\\$&");
}
