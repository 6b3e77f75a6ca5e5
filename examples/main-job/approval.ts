import type { Client, ProposalInfo, RunEvent } from "@pawl/sdk";
import { say } from "./printer.js";
import { ownToken } from "./token.js";

/** Hex digits of a fingerprint that a decision restates here: as many as `pawl approvals show` prints. */
const fingerprintDigits = 16;

/**
 * Tells of a proposal that was just made, or that was found again: what is asked, and by which commands it is answered.
 * @returns true when it waits for a person now
 */
export async function tellProposal(client: Client, { proposalId }: RunEvent): Promise<boolean> {
  const proposal = await client.approvals.get(proposalId);
  say("run", `ticket: proposal ${proposalId} is made; the lease goes back while a person decides`);
  if (proposal.status !== "pending") return false;
  const { runId, operation, target } = proposal;
  say("", "");
  say("", `Run ${runId} waits for a person: may "${operation}" on "${target}" be performed?`);
  say("", "Read exactly what would be sent, then decide, in another terminal in this folder:");
  for (const command of commandsFor(proposal)) say("", `  ${command}`);
  for (const line of aboutWho()) say("", line);
  say("", "");
  return true;
}

/** Who may decide, and as whom it is recorded. */
function aboutWho(): readonly string[] {
  return ownToken().token === undefined
    ? [
        'No token is asked for here, so whoever decides is recorded as "local", unauthenticated.',
        "The example allows that; with tokens, somebody else than the requester should decide.",
      ]
    : [
        "Decide with the token of somebody who has the role approver: in PAWL_TOKEN, or --token-file FILE.",
      ];
}

/** The commands that are printed. They run exactly as they stand. */
function commandsFor({ proposalId, fingerprint }: ProposalInfo): string[] {
  const decision = `${proposalId} --fingerprint ${fingerprint.slice(0, fingerprintDigits)}`;
  return [
    `npx --no pawl approvals show ${proposalId}`,
    `npx --no pawl approvals approve ${decision}`,
    `npx --no pawl approvals reject ${decision} --reason "not needed"`,
  ];
}

/** Who allowed what was done, for people; undefined when nothing was. */
export async function describeApproval(client: Client, runId: string): Promise<string | undefined> {
  for await (const proposal of client.approvals.list({ runId, status: "consumed" })) {
    const names = proposal.decisions.map(({ principal, authenticated, reason }) => {
      const who = authenticated ? `"${principal}"` : `"${principal}" (unauthenticated)`;
      return reason === "" ? who : `${who}, "${reason}"`;
    });
    return `by ${names.join(" and ")}, proposal ${proposal.proposalId}`;
  }
  return undefined;
}
