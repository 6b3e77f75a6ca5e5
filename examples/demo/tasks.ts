import {
  json,
  type Lookup,
  NotSent,
  type Operation,
  type OperationCall,
  operation,
  Refused,
  type ServedTask,
} from "@pawl/sdk";
import { type SinkMode, ticketClient } from "../ticket-service/client.js";
import { fileWhenApproved } from "./approved-file.js";
import type { ChildSettings } from "./child-settings.js";
import { look, servedGather } from "./gather.js";
import { confirm, type Filed, file, type Order } from "./plan.js";

const tickets = ticketClient(process.env["TICKETS_URL"] ?? "http://127.0.0.1:7310");

/**
 * The time one call may take, and after it the time a late one may still act: nobody looks up or asks a person before both are
 * over. Short, so that the demo is.
 */
const times = {
  callTimeout: process.env["DEMO_CALL"] === "long" ? "60s" : "2s",
  settle: "1s",
} as const;

function createAt(mode: SinkMode): (op: OperationCall<Order>) => Promise<Filed> {
  return async (op) => {
    const content = { title: op.payload.title, body: "Made by the crash demo." };
    const said = await tickets.createTicket({ mode, key: op.key, ticket: content }, op.signal);
    if (said.kind === "created") return { id: said.ticket.id };
    if (said.kind === "refused") throw new Refused(said.message, { sinkCode: said.code });
    if (said.kind === "not-sent") throw new NotSent(said.message);
    throw new Error(said.message);
  };
}

async function findByKey(op: OperationCall<Order>): Promise<Lookup<Filed>> {
  const said = await tickets.findTicket("reconcilable", op.key, op.signal);
  return said.kind === "found" ? { found: { id: said.ticket.id } } : said.kind;
}

const common = { payload: json<Order>(), result: json<Filed>(), callTimeout: times.callTimeout };

const operations: Readonly<Record<SinkMode, Operation<Order, Filed>>> = {
  idempotent: operation("tickets.create", {
    ...common,
    sink: { kind: "idempotent", keyWindow: "1d" },
    call: createAt("idempotent"),
  }),
  reconcilable: operation("tickets.create", {
    ...common,
    sink: { kind: "reconcilable", settle: times.settle },
    call: createAt("reconcilable"),
    lookup: findByKey,
  }),
  opaque: operation("tickets.create", {
    ...common,
    sink: { kind: "opaque", settle: times.settle },
    call: createAt("opaque"),
  }),
};

/** What a process of the demo serves: the effect at a sink of this kind may need an approval first. */
export function servedTasks({ mode, serves, approval, merge }: ChildSettings): ServedTask[] {
  const create = operations[mode];
  if (serves === "look") return [look];
  if (serves === "gather") return [servedGather(create, merge)];
  const filing =
    approval === undefined
      ? file.run((ctx, order) => ctx.perform(create, order, { target: "tickets" }))
      : fileWhenApproved(create, approval);
  const confirming = confirm.run((ctx) => ({ confirmed: ctx.dependency(file, "file").id }));
  return serves === "all" ? [filing, confirming] : [filing];
}
