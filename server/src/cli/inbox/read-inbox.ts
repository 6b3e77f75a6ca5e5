import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { InputRequest } from "@pawl/proto/v1/input_pb.js";
import type { Proposal } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { Review } from "@pawl/proto/v1/review_pb.js";
import { readInputs } from "../commands/inputs-list.js";
import { readReviews } from "../commands/reviews-list.js";
import { readProposals } from "../read-proposal.js";
import type { KernelSession } from "../with-kernel.js";
import type { Who } from "./who.js";

/** Everything that waits for a person, each kind oldest first. */
export interface Inbox {
  readonly proposals: readonly Proposal[];
  readonly inputs: readonly InputRequest[];
  readonly reviews: readonly Review[];
  /** Of some kind there is more than the limit. */
  readonly hasMore: boolean;
}

interface Listed<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}

/** Reads what waits for those who are named, or for whoever there is; at most `limit` of each kind. */
export async function readInbox(
  session: KernelSession,
  who: Who | undefined,
  limit: number,
): Promise<Inbox> {
  const proposals = await readPending(session, who, limit);
  const inputs = await readQuestions(session, who, limit);
  const reviews =
    who?.mayResolve === false
      ? { items: [], hasMore: false }
      : await readReviews(session, { runId: "", includeResolved: false, limit });
  return {
    proposals: proposals.items,
    inputs: inputs.items,
    reviews: reviews.items,
    hasMore: proposals.hasMore || inputs.hasMore || reviews.hasMore,
  };
}

async function readPending(
  session: KernelSession,
  who: Who | undefined,
  limit: number,
): Promise<Listed<Proposal>> {
  const filter = { runId: "", status: ProposalStatus.PENDING, limit };
  const lists: Listed<Proposal>[] = [];
  for (const addressee of who?.deciders ?? [""]) {
    lists.push(await readProposals(session, { ...filter, addressee }));
  }
  return mergeLists(lists, limit, ({ proposalId, proposedAt }) => [proposalId, proposedAt]);
}

async function readQuestions(
  session: KernelSession,
  who: Who | undefined,
  limit: number,
): Promise<Listed<InputRequest>> {
  if (who === undefined) return readInputs(session, { limit });
  const lists = [await readInputs(session, { limit, forAnybody: true })];
  for (const addressee of who.addressees) {
    lists.push(await readInputs(session, { limit, addressee }));
  }
  return mergeLists(lists, limit, ({ inputId, askedAt }) => [inputId, askedAt]);
}

/** One list of several, in which a thing may stand more than once; oldest first. */
function mergeLists<T>(
  lists: readonly Listed<T>[],
  limit: number,
  identify: (item: T) => readonly [id: string, at: Timestamp | undefined],
): Listed<T> {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const byId = new Map<string, { readonly id: string; readonly item: T; readonly atMs: number }>();
  for (const item of lists.flatMap((list) => list.items)) {
    const [id, at] = identify(item);
    byId.set(id, { id, item, atMs: at === undefined ? 0 : timestampMs(at) });
  }
  const items = [...byId.values()]
    .sort((a, b) => a.atMs - b.atMs || a.id.localeCompare(b.id, "en", { numeric: true }))
    .map(({ item }) => item);
  const hasMore = items.length > limit || lists.some((list) => list.hasMore);
  return { items: items.slice(0, limit), hasMore };
}
