import { setMaxListeners } from "node:events";

/** An abort controller whose signal may have any number of listeners: one for each call that is under way is no leak. */
export function makeController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
