import { json, plan, task } from "@pawl/sdk";

/** What the run is about. The title is unique in the demo, so that an opaque sink's books can be read by it. */
export interface Order {
  readonly title: string;
}

/** What the first task gives. */
export interface Filed {
  readonly id: string;
}

/**
 * A dead worker's task is offered elsewhere after the lease. In windows in which the worker lives, the lease is long enough
 * for a busy machine.
 */
const lease = process.env["DEMO_LEASE"] === "long" ? "60s" : "2s";

const schedule = {
  timeouts: { lease },
  retry: { attempts: 10, initial: "100ms", max: "1s" },
} as const;

/** Performs the effect. */
export const file = task("demo.file", { input: json<Order>(), output: json<Filed>(), ...schedule });

/** Comes after it, so that a run is still open when the effect is complete. */
export const confirm = task("demo.confirm", {
  output: json<{ readonly confirmed: string }>(),
  ...schedule,
});

/** The effect, then the rest. */
export const demoPlan = plan("demo", {
  input: json<Order>(),
  tasks: { file: { task: file }, confirm: { task: confirm, needs: ["file"] } },
  output: "confirm",
});
