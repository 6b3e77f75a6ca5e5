/** A request that began an incarnation of a run, remembered so that sent again it begins no other. */
export interface StartRequest {
  readonly requestId: string;
  /** When it was decided, in ms since the Unix epoch. */
  readonly atMs: number;
}

/** How long the request that began an incarnation is remembered at least, in ms; the last one is as long as its run is. */
export const rememberedMs: number = 24 * 60 * 60 * 1000;

/** No request: shared by all runs without one. */
export const noRequests: readonly StartRequest[] = [];

/** Those that must still be remembered when another comes. */
export function freshRequests<T extends { readonly atMs: number }>(
  requests: readonly T[],
  nowMs: number,
): readonly T[] {
  return requests.filter(({ atMs }) => nowMs - atMs < rememberedMs);
}

/** The list with one more; a start without an id is not remembered. */
export function rememberRequest(
  requests: readonly StartRequest[],
  { requestId, atMs }: StartRequest,
): readonly StartRequest[] {
  return requestId === "" ? requests : [...requests, { requestId, atMs }];
}
