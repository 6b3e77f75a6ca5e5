import type { WatchProposalsResponse } from "@pawl/proto/v1/approval_service_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import type {
  Approvals,
  ListApprovalsOptions,
  ProposalChangeInfo,
  ProposalInfo,
  ProposalStatusName,
  ShownProposal,
  WatchApprovalsOptions,
} from "../approvals.js";
import { DefinitionInvalid, PawlError } from "../errors.js";
import type { ClientCore } from "./client-core.js";
import { follow } from "./follow.js";
import { proposalInfo, statusName, statusOfName } from "./proposal-info.js";
import { Reopening } from "./reopening.js";
import { callUnary } from "./unary.js";

/** `client.approvals`. */
export class ApprovalsClient implements Approvals {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  async *list(options: ListApprovalsOptions = {}): AsyncGenerator<ProposalInfo> {
    const { api, namespace } = this.#core;
    const { runId = "", addressee = "", status } = options;
    const filter = { namespace, runId, addressee, status: statusOfName(status) };
    let pageToken = "";
    do {
      const token = pageToken;
      const page = await callUnary(
        (call) => api.approvals.listProposals({ ...filter, pageToken: token }, call),
        this.#core.unary(),
      );
      for (const proposal of page.proposals) yield proposalInfo(proposal);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async get(proposalId: string): Promise<ProposalInfo> {
    const { api, namespace } = this.#core;
    const which = { case: "proposalId", value: proposalId } as const;
    const { proposal } = await callUnary(
      (call) => api.approvals.getProposal({ namespace, which }, call),
      this.#core.unary(),
    );
    if (proposal === undefined) {
      throw new PawlError(
        "PAWL_UNKNOWN_ANSWER",
        "Expected a proposal, but the answer has none. Update @pawl/sdk.",
      );
    }
    return proposalInfo(proposal);
  }

  approve(
    shown: ShownProposal,
    options: { readonly reason?: string } = {},
  ): Promise<ProposalStatusName> {
    return this.#decide(shown, ProposalVerdict.APPROVE, options.reason ?? "");
  }

  reject(shown: ShownProposal, options: { readonly reason: string }): Promise<ProposalStatusName> {
    return this.#decide(shown, ProposalVerdict.REJECT, options.reason);
  }

  async revoke(
    { proposalId, version }: Pick<ProposalInfo, "proposalId" | "version">,
    { reason }: { readonly reason: string },
  ): Promise<void> {
    const { api, namespace } = this.#core;
    const request = { namespace, proposalId, expectedVersion: version, reason };
    await callUnary((call) => api.approvals.revokeApproval(request, call), this.#core.unary());
  }

  async withdraw(
    { proposalId, version }: Pick<ProposalInfo, "proposalId" | "version">,
    { reason = "" }: { readonly reason?: string } = {},
  ): Promise<void> {
    const { api, namespace } = this.#core;
    const request = { namespace, proposalId, expectedVersion: version, reason };
    await callUnary((call) => api.approvals.withdrawProposal(request, call), this.#core.unary());
  }

  async await(
    proposalId: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ProposalInfo> {
    const { api, namespace } = this.#core;
    const { signal } = this.#core.unary(options.signal);
    const reopening = new Reopening(this.#core, signal);
    for (;;) {
      signal.throwIfAborted();
      try {
        const told = api.approvals.awaitApproval({ namespace, proposalId }, { signal });
        for await (const { proposal } of told) {
          reopening.answered();
          if (proposal !== undefined && statusName(proposal.status) !== "pending") {
            return proposalInfo(proposal);
          }
        }
      } catch (cause) {
        reopening.failed(cause);
      }
      await reopening.next();
    }
  }

  watch(options: WatchApprovalsOptions = {}): AsyncIterable<ProposalChangeInfo> {
    const { api, namespace } = this.#core;
    const { addressee = "" } = options;
    return follow(this.#core, options, {
      open: (position, signal) =>
        api.approvals.watchProposals({ namespace, addressee, position }, { signal }),
      read: readChanges,
      current: () => this.#listPending(addressee),
    });
  }

  async *#listPending(addressee: string): AsyncGenerator<ProposalChangeInfo> {
    for await (const proposal of this.list({ addressee })) {
      const { proposalId, runId, operation, target, status } = proposal;
      yield { proposalId, runId, operation, target, status, position: undefined };
    }
  }

  async #decide(
    { proposalId, fingerprint, version }: ShownProposal,
    verdict: ProposalVerdict,
    reason: string,
  ): Promise<ProposalStatusName> {
    const { api, namespace } = this.#core;
    const request = {
      ...{ namespace, proposalId, expectedVersion: version, verdict, reason },
      fingerprint: bytesOf(fingerprint),
    };
    const answer = await callUnary(
      (call) => api.approvals.decideProposal(request, call),
      this.#core.unary(),
    );
    return statusName(answer.status);
  }
}

/** A fingerprint as it is shown. */
function bytesOf(fingerprint: string): Uint8Array<ArrayBuffer> {
  if (!/^[0-9a-f]{64}$/.test(fingerprint)) {
    throw new DefinitionInvalid(
      "Expected the fingerprint of a proposal as it was shown, 64 hex digits, but it is not. Give what `fingerprint` was.",
    );
  }
  return new Uint8Array(Buffer.from(fingerprint, "hex"));
}

function* readChanges(
  { changes }: WatchProposalsResponse,
  position: string,
): Generator<ProposalChangeInfo> {
  for (const [place, change] of changes.entries()) {
    const { proposalId, runId, operation, target } = change;
    const isLast = place === changes.length - 1;
    const status = statusName(change.status);
    yield {
      ...{ proposalId, runId, operation, target, status },
      position: isLast ? position : undefined,
    };
  }
}
