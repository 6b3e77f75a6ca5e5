/**
 * What of `T` comes back unchanged after a crash: JSON. Dates, maps, sets, bigints, functions, symbols, promises and
 * class instances with methods become `never`, so that recording one is a type error where it is written.
 */
export type Rec<T> = T extends string | number | boolean | null
  ? T
  : T extends
        | ((...parameters: never[]) => unknown)
        | Date
        | ReadonlyMap<unknown, unknown>
        | ReadonlySet<unknown>
        | ArrayBufferView
        | bigint
        | undefined
        | symbol
        | PromiseLike<unknown>
    ? never
    : T extends readonly unknown[]
      ? { [K in keyof T]: Rec<T[K]> }
      : T extends object
        ? {
            [K in keyof T]: undefined extends T[K]
              ? Rec<Exclude<T[K], undefined>> | undefined
              : Rec<T[K]>;
          }
        : never;

/**
 * A rest parameter that is empty when `T` is JSON and cannot be satisfied otherwise; its label is what the compiler
 * prints.
 */
export type JsonOnly<T> = [T] extends [Rec<T>]
  ? []
  : [
      problem: "Expected only JSON (no Date, Map, Set, bigint, undefined or function): nothing else comes back after a crash",
    ];

/** Anything when `T` is JSON; otherwise something that no value is. Intersected with what a function returns. */
export type MustBeJson<T> = [T] extends [Rec<T>] ? unknown : NotJson;

/** As `MustBeJson`, but nothing at all is fine too. */
export type JsonOrNothing<T> = [T] extends [
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has the return type void.
  Rec<T> | undefined | void,
]
  ? unknown
  : NotJson;

/** What the compiler names when a value is not JSON. */
export interface NotJson {
  /** Why the value is refused. */
  readonly problem: "Expected only JSON (no Date, Map, Set, bigint, undefined or function): nothing else comes back after a crash";
}
