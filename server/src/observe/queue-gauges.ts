import { Gauge, Registry } from "prom-client";
import type { QueueGauge } from "./meter.js";

/** Queues that metrics name one by one; those with fewer waiting tasks are told together. */
const queuesMax = 100;

const labelNames = ["namespace", "queue", "kind"] as const;

/** What is known of queues, in Prometheus' text format. The queues are those that whoever asks may know of. */
export function queueMetrics(queues: readonly QueueGauge[]): Promise<string> {
  const registry = new Registry();
  const ready: Gauge<(typeof labelNames)[number]> = new Gauge({
    registers: [registry],
    name: "pawl_queue_ready_tasks",
    help: "Tasks that wait for a worker. The 100 longest queues one by one, all others together as queue and kind _other.",
    labelNames,
  });
  const served: typeof ready = new Gauge({
    registers: [registry],
    name: "pawl_queue_sessions",
    help: "Worker sessions that serve a queue, for the queues of pawl_queue_ready_tasks.",
    labelNames,
  });
  for (const { namespace, queue, kind, ready: count, sessions } of longestQueues(queues)) {
    ready.set({ namespace, queue, kind }, count);
    served.set({ namespace, queue, kind }, sessions);
  }
  return registry.metrics();
}

/** The longest queues by name, so that kinds without end make no metrics without end. */
function longestQueues(queues: readonly QueueGauge[]): QueueGauge[] {
  const longest = [...queues].sort(
    (one, other) => other.ready - one.ready || other.sessions - one.sessions,
  );
  const rest = longest.splice(queuesMax);
  if (rest.length === 0) {
    return longest;
  }
  const ready = rest.reduce((sum, queue) => sum + queue.ready, 0);
  const sessions = rest.reduce((sum, queue) => sum + queue.sessions, 0);
  return [...longest, { namespace: "_other", queue: "_other", kind: "_other", ready, sessions }];
}
