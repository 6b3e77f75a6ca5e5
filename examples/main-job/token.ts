import { kernelFolder } from "./folders.js";

/** The token that this process and the worker send, from PAWL_TOKEN as for `pawl`. Absent: none, for a kernel that asks for none. */
export function ownToken(): { readonly token?: string } {
  const token = process.env["PAWL_TOKEN"]?.trim();
  return token === undefined || token === "" ? {} : { token };
}

/** What the worker ends with when the kernel does not let it in; to start it again would not help. */
export const notLetInCode = 77;

/** What to do when the kernel does not let the example in. */
export const tokenHint: string = `${kernelFolder}/tokens.json is there, so the kernel asks for tokens. Give the example one of its own, and decide with another one:
  PAWL_TOKEN=$(npx --no pawl token create --name example --role worker --role client) npm start
  npx --no pawl token create --name ann --role approver > ann.token`;
