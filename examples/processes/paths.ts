import { fileURLToPath } from "node:url";

// This module is built to examples/dist/processes.
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The `pawl` command of this repository. */
export const pawlCommand: string = at("../../../server/bin/pawl.js");

/** The ticket service, which is started as a process of its own. */
export const ticketService: string = at("../ticket-service/main.js");

/** The file that the main job works on. It lies among the sources, not in the build. */
export const incidentFile: string = at("../../data/incident.md");

/** The worker of the main job, likewise. */
export const exampleWorker: string = at("../main-job/worker.js");

/** The worker that the demo kills. */
export const demoWorker: string = at("../demo/worker.js");

/** The single agent that the demo kills: kernel and worker in one process. */
export const demoAgent: string = at("../demo/agent.js");
