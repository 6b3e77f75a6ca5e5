import { json, NotSent, operation, Refused } from "@pawl/sdk";
import { ticketClient } from "../ticket-service/client.js";
import { findFacts, writeTicket } from "./model.js";
import { draft, type FiledTicket, research, type TicketDraft, ticket } from "./plan.js";

const tickets = ticketClient(process.env["TICKETS_URL"] ?? "http://127.0.0.1:7310");

/** Creates a ticket. The service performs a key once, so after a crash the same key may be sent again. */
export const createTicket = operation("tickets.create", {
  payload: json<TicketDraft>(),
  result: json<FiledTicket>(),
  callTimeout: "5s",
  sink: { kind: "idempotent", keyWindow: "365d" },
  call: async (op) => {
    const call = { mode: "idempotent", key: op.key, ticket: op.payload } as const;
    const said = await tickets.createTicket(call, op.signal);
    if (said.kind === "created")
      return { id: said.ticket.id, title: said.ticket.title, key: op.key };
    if (said.kind === "refused") throw new Refused(said.message, { sinkCode: said.code });
    if (said.kind === "not-sent") throw new NotSent(said.message);
    throw new Error(said.message);
  },
});

/** What the example worker serves. */
export const servedTasks = [
  research.run((ctx, incident) => findFacts(incident.report, ctx.signal)),
  draft.run((ctx) => {
    const findings = ctx.dependency(research, "research");
    // Recorded: the text is written once, and an attempt after a crash goes on with the same one.
    return ctx.step("write", ({ signal }) => writeTicket(findings, signal));
  }),
  ticket.run(async (ctx) => {
    const proposed = ctx.dependency(draft, "draft");
    // Exactly this ticket is shown and approved. The wait needs no worker: the lease goes back, and later the task begins anew.
    const said = await ctx.approve(createTicket, proposed, {
      target: "tickets",
      from: ["role:approver"],
      // Without tokens everybody on this machine is "local", who also started the run: there is nobody else to ask.
      requesterMayDecide: true,
      expiresIn: "7d",
      display: { title: "File a ticket about what is left to do after the incident" },
    });
    if (said.status !== "approved") return { status: said.status, why: said.reason };
    return { status: "filed", ticket: await said.perform() };
  }),
];
