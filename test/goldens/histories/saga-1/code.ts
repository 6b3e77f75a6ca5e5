import {
  CallFailed,
  Fatal,
  json,
  operation,
  task,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";
import type { Golden } from "../../support/golden.js";

/* Made the histories beside it. It stays as it is. */

interface Trip {
  readonly to: string;
}

function effect(name: string) {
  return operation(name, {
    payload: json<Trip>(),
    result: json<string>(),
    sink: { kind: "idempotent", keyWindow: "24h" },
    call: ({ payload }) => `${name} ${payload.to}`,
  });
}
const hold = effect("seat.hold");
const release = effect("seat.release");
const pay = effect("card.pay");
const payBack = effect("card.pay-back");

const drive = task("drive", { input: json<string>(), retry: { attempts: 1 } }).run((_ctx, to) => {
  throw new Fatal(`Nobody drives to ${to}.`);
});

/** Holds a seat, pays, fails, and has both undone. */
async function code(ctx: WorkflowContext, trip: Trip): Promise<string> {
  await ctx.perform(hold, trip, { target: "airline" });
  ctx.onRollback(release, trip, { target: "airline" });
  const checked = await ctx
    .step("check", { retry: { attempts: 2, initial: "1s" } }, (): string => {
      throw new Error("no answer");
    })
    .catch(() => "unchecked");
  await ctx.perform(pay, trip, { target: "bank" });
  ctx.onRollback(payBack, trip, { target: "bank" });
  const driven = ctx.call(drive, trip.to);
  const { winner } = await ctx.any("way", { driven, later: ctx.sleep("later", "3d") });
  await driven.catch((error: unknown) => {
    if (!(error instanceof CallFailed)) throw error;
  });
  throw new Fatal(`${checked}, and ${winner}: ${trip.to} cannot be reached.`);
}

/** A trip that fails and is undone. */
export const golden: Golden<Trip, string> = {
  code,
  serve: (served, unvisited = "review") =>
    workflow("golden.trip", { version: 1, input: json<Trip>(), unvisited }).run(served),
  play: async (env, keep) => {
    const workflowOf = golden.serve(code);
    await env.worker({ serve: [workflowOf, drive], name: "golden" });
    const run = await env.kernel.start(workflowOf, { to: "the moon" }, { runId: "trip" });
    await env.settle();
    await keep("waits", "trip");
    await env.advance("3d");
    await run.result().catch(() => undefined);
    await env.settle();
    await keep("undone", "trip");
  },
  ends: {
    waits: "goes on",
    undone: "threw Fatal: unchecked, and later: the moon cannot be reached.",
  },
};
