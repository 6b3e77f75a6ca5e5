import type { Proposal } from "@pawl/proto/v1/proposal_pb.js";
import { FollowUps, quoteWord } from "./follow-up.js";
import type { KernelSession } from "./with-kernel.js";

/** Whom a proposal asks. */
type Asked = Pick<Proposal, "from" | "requesterMayDecide">;

/** What must be done before somebody can decide. */
export interface TokenNeed {
  /** One sentence. */
  readonly why: string;
  /** Makes the token. */
  readonly make: string;
  /** What the command that decides says besides. */
  readonly option: readonly string[];
}

/**
 * What is needed first where whoever gives this command proves nothing, and a decision of somebody who proves nothing is never taken: `local`
 * may be the requester, and is no user by name. Undefined: one may decide at once.
 */
export function tokenNeed(session: KernelSession, asked: Asked): TokenNeed | undefined {
  const { isAuthenticated, namespace } = session;
  if (isAuthenticated || mayLocalDecide(asked)) return undefined;
  const [user] = asked.from.filter((name) => name.startsWith("user:"));
  const principal = user?.slice("user:".length) ?? "NAME";
  const roles = user === undefined ? asked.from.slice(0, 1).map((role) => role.slice(5)) : [];
  const grants = new Set(["approver", ...roles]);
  const words = [
    ...["--name", principal],
    ...[...grants].flatMap((role) => ["--role", role]),
    ...(namespace === "" ? [] : ["--namespace", namespace]),
  ];
  const file = `${principal}.token`;
  return {
    why:
      'a token: without one everybody is "local", who may not decide this' +
      (asked.requesterMayDecide ? "" : " since it may be the requester") +
      "; the first token lets nobody in without one, workers neither, so make theirs first (--role worker --role client)",
    // The token file is no kernel's address: what reaches this kernel is not restated.
    make: `${new FollowUps({}).command("token create", [], words)} > ${quoteWord(file)}`,
    option: ["--token-file", file],
  };
}

function mayLocalDecide({ from, requesterMayDecide }: Asked): boolean {
  return (
    requesterMayDecide && from.some((name) => name.startsWith("role:") || name === "user:local")
  );
}
