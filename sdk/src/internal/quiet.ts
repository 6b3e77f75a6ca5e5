/** The same promise. A call that nobody awaits must not end the process. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** What something gives or throws as a promise, which is as quiet. */
export function promised<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    const given = run();
    return given instanceof Promise ? quiet(given) : Promise.resolve(given);
  } catch (thrown) {
    return quiet(Promise.reject(thrown));
  }
}

/** True for whatever `await` waits for. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    typeof Reflect.get(value, "then") === "function"
  );
}
