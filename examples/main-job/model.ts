import { setTimeout as delay } from "node:timers/promises";
import type { Findings, TicketDraft } from "./plan.js";

/*
 * Stands where an agent would call a language model: it takes its time, and it answers. It works on this machine
 * without a key, and says the same of the same text, so that everybody sees the same ticket.
 */

const thinkMs = 600;

/** Reads an incident report and finds what a ticket needs. */
export async function findFacts(report: string, signal: AbortSignal): Promise<Findings> {
  await delay(thinkMs, undefined, { signal });
  const field = (name: string): string => {
    const line = report.split("\n").find((each) => each.startsWith(`- ${name}: `));
    return line?.slice(name.length + 4).trim() ?? "unknown";
  };
  return {
    title: /^# (.+)$/m.exec(report)?.[1]?.trim() ?? "Incident without a title",
    severity: /^\d+/.exec(field("Severity"))?.[0] ?? "unknown",
    service: field("Service").split(",")[0] ?? "unknown",
    impact: itemsOf(report, "Impact"),
    openQuestions: itemsOf(report, "What is not known"),
    followUps: itemsOf(report, "Follow-up"),
  };
}

/** Writes the ticket. */
export async function writeTicket(findings: Findings, signal: AbortSignal): Promise<TicketDraft> {
  await delay(thinkMs, undefined, { signal });
  const part = (heading: string, items: readonly string[]): string =>
    [`${heading}:`, ...items.map((item) => `- ${item}`)].join("\n");
  return {
    title: `Follow up: ${findings.title}`,
    body: [
      part("Impact", findings.impact),
      part("Not known yet", findings.openQuestions),
      part("To do", findings.followUps),
    ].join("\n\n"),
    labels: ["incident", `severity-${findings.severity}`, findings.service],
  };
}

/** The items of a list under a heading, each on one line. */
function itemsOf(report: string, heading: string): string[] {
  const section = report.split(/^## /m).find((each) => each.startsWith(heading)) ?? "";
  return section
    .split(/^(?:-|\d+\.) /m)
    .slice(1)
    .map((item) => item.replace(/\s+/g, " ").trim());
}
