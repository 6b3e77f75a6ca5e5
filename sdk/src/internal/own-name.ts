import { DefinitionInvalid } from "../errors.js";
import { quiet } from "./quiet.js";

/** Refuses the name of a step that would pass for one of the SDK's own. */
export function ownName(name: string): Promise<never> | undefined {
  if (typeof name !== "string" || !name.startsWith("$")) return undefined;
  const message = `Expected a name of a step without "$" at its beginning, but it is "${name}". Such names are the SDK's own: choose another one.`;
  return quiet(Promise.reject(new DefinitionInvalid(message)));
}
