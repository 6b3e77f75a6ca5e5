/** Up to here a list is copied. */
const copiedMax = 3;

/**
 * A list with one more item: a new one while it is short, itself afterwards. The host makes room for seventeen when something is pushed to an empty
 * array, which for the two or three entries of a short run is most of what they take.
 */
export function withOneMore<T>(list: T[], item: T): T[] {
  const { length } = list;
  if (length === 0) {
    return [item];
  }
  if (length < copiedMax) {
    return [...list, item];
  }
  list.push(item);
  return list;
}
