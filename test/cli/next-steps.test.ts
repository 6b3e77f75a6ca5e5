import { readdirSync } from "node:fs";
import { FollowUps } from "@pawl/server/cli/follow-up.js";
import { nextAfter } from "@pawl/server/cli/next-steps.js";
import { codeByReason } from "@pawl/server/rpc/rejection-status.js";
import { describe, expect, it } from "vitest";

const followUps = new FollowUps({ url: "http://127.0.0.1:7295", namespace: "ours" });
const pages = readdirSync(new URL("../../docs/errors/", import.meta.url))
  .map((name) => name.replace(/\.md$/, ""))
  .filter((name) => name.startsWith("PAWL_"));
const unknown = nextAfter("PAWL_OF_A_NEWER_KERNEL", followUps);

describe("a refusal", () => {
  it("has a page for each reason of the table", () => {
    expect(Object.keys(codeByReason).filter((reason) => !pages.includes(reason))).toEqual([]);
    expect(pages.length).toBeGreaterThan(30);
  });

  it.each([...new Set([...Object.keys(codeByReason), ...pages])])(
    "with %s says what to do next",
    (reason) => {
      const next = nextAfter(reason, followUps);
      expect(next.length).toBeGreaterThan(0);
      expect(next).not.toEqual(unknown);
      for (const step of next) {
        // A sentence, or a command that leads to the same kernel and namespace.
        expect(step).toMatch(/^[A-Z].*\.$|^npx --no pawl .*--url http:\S+ --namespace ours$/);
      }
    },
  );

  it("with a reason that this pawl does not know says so", () => {
    expect(unknown).toEqual(["This pawl does not know the reason: use one as new as the kernel."]);
  });
});
