/*
 * The first thing every command looks at. This file keeps to syntax that old releases of Node parse,
 * and imports nothing: otherwise a person with an old Node would get a syntax error, not a sentence.
 */

/** The oldest Node.js that Pawl runs on, as major.minor. */
export const NODE_FLOOR = "20.20";

/**
 * Says what is wrong with a version of Node.js.
 *
 * @param {string} version such as "20.20.2"
 * @returns {string | undefined} one sentence for a person, or nothing when the version will do
 */
export function describeNodeProblem(version) {
  if (toNumber(version) >= toNumber(NODE_FLOOR)) return undefined;
  return (
    `Pawl needs Node.js ${NODE_FLOOR} or newer, but this is Node.js ${version}. ` +
    "Install the newest LTS release of Node.js, then run the command again."
  );
}

/**
 * @param {string} version
 * @returns {number} comparable; minor versions stay below 1000
 */
function toNumber(version) {
  const parts = version.split(".");
  return Number(parts[0]) * 1000 + Number(parts[1]);
}

/** Ends the process with that sentence and exit code 1 when this Node.js is too old. */
export function refuseOldNode() {
  const problem = describeNodeProblem(process.versions.node);
  if (problem === undefined) return;
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
