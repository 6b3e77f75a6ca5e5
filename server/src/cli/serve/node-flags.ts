/**
 * Size of each half of the young generation, in MiB; Node's own default is 16. What a kernel makes for a run lives until the run is in rows, about a
 * second under load: in a small young generation it is copied several times and then promoted, only to die soon after. It is used only when needed.
 */
const SEMI_SPACE_MIB = 32;

const FLAG = "--max-semi-space-size";

/** Flags for the Node process of a kernel: those given, and a larger young generation unless the flags or `NODE_OPTIONS` name one. */
export function nodeFlags(execArgv: readonly string[], nodeOptions: string = ""): string[] {
  const isNamed = [...execArgv, ...nodeOptions.split(" ")].some((flag) =>
    flag.replaceAll("_", "-").startsWith(FLAG),
  );
  return isNamed ? [...execArgv] : [...execArgv, `${FLAG}=${SEMI_SPACE_MIB}`];
}
