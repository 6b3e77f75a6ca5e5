import { json, plan, task } from "@pawl/sdk";

/** What a run works on. */
export interface Incident {
  /** Name of the file, for people. */
  readonly file: string;
  /** Its text. */
  readonly report: string;
}

/** What research finds. */
export interface Findings {
  readonly title: string;
  readonly severity: string;
  readonly service: string;
  readonly impact: readonly string[];
  readonly openQuestions: readonly string[];
  readonly followUps: readonly string[];
}

/** A ticket that does not exist yet. */
export interface TicketDraft {
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
}

/** A ticket that exists. */
export interface FiledTicket {
  readonly id: string;
  readonly title: string;
  /** Operation key under which it was created. */
  readonly key: string;
}

/** What became of the draft: a ticket, or none, since a person said no or nobody said yes in time. */
export type TicketOutcome =
  | { readonly status: "filed"; readonly ticket: FiledTicket }
  | { readonly status: "rejected" | "expired" | "withdrawn"; readonly why: string };

/** A killed worker's task goes on elsewhere after 5 s at most, and a failed attempt is tried again soon. */
const schedule = {
  timeouts: { lease: "5s" },
  retry: { attempts: 20, initial: "500ms", max: "5s" },
} as const;

/** Reads the report. */
export const research = task("incident.research", {
  input: json<Incident>(),
  output: json<Findings>(),
  ...schedule,
});

/** Writes the ticket's text. */
export const draft = task("incident.draft", { output: json<TicketDraft>(), ...schedule });

/** Asks a person, then creates the ticket. */
export const ticket = task("incident.ticket", { output: json<TicketOutcome>(), ...schedule });

/** Research, then draft, then, once a person has approved it, the ticket. */
export const incidentPlan = plan("incident", {
  input: json<Incident>(),
  tasks: {
    research: { task: research },
    draft: { task: draft, needs: ["research"] },
    ticket: { task: ticket, needs: ["draft"] },
  },
  output: "ticket",
});
