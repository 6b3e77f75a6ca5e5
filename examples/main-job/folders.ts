/** The kernel's data folder: where every `pawl` command looks for one when none is named. */
export const kernelFolder = ".pawl";

/** What the example keeps beside it. Nothing in here is the kernel's. */
export const exampleFolder = ".pawl-example";

/** The books of the ticket service. */
export const ticketsFolder: string = `${exampleFolder}/tickets`;

/** Its lock makes one `npm start` of a folder the supervisor, and lets every other one join. */
export const supervisorFolder: string = `${exampleFolder}/supervisor`;

/** Which run `npm start` goes on with. */
export const runFile: string = `${exampleFolder}/run.json`;
