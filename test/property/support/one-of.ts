/** One of some, by a number of any size. */
export function oneOf<T>(items: readonly T[], pick: number): T {
  const item = items[pick % items.length];
  if (item === undefined) {
    throw new Error("nothing to pick from");
  }
  return item;
}
