import { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import type { Caller } from "@pawl/server/core/caller.js";
import { localCaller } from "@pawl/server/core/caller.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { beforeEach, expect, test } from "vitest";
import { startRun } from "../../core/support/commands.js";
import { createMemoryStore } from "../../support/kernel.js";
import { onePlan, runOf } from "./support/one-run.js";
import { openTrimming } from "./support/trimming-kernel.js";

const ann: Caller = { principal: "ann", roles: ["admin"], authenticated: true };
const namespace = "default";
const { ALLOW, REDACT, REFUSE } = CredentialMode;

let disk: MemoryDisk;

beforeEach(async () => {
  disk = new MemoryDisk();
  await createMemoryStore(disk);
});

async function set(kernel: Kernel, mode: CredentialMode): Promise<void> {
  await kernel.changeCredentialPolicy({ namespace, mode, expectedVersion: undefined }, ann);
}

const endings = {
  "in order": (kernel: Kernel) => kernel.close(),
  "by a power cut": async () => disk.powerCut(),
};

test.each(Object.entries(endings))(
  "the policy of a namespace is there after a kernel went away %s, from the tail and from the row",
  async (_, end) => {
    const first = await openTrimming(disk);
    expect(await first.getCredentialPolicy(namespace)).toMatchObject({ mode: REFUSE, version: 0 });
    await set(first, ALLOW);
    await end(first);
    const second = await openTrimming(disk);
    expect(await second.getCredentialPolicy(namespace)).toMatchObject({ mode: ALLOW, version: 1 });
    await set(second, REDACT);
    // Its checkpoint takes the store's own run along, and the log behind it goes.
    await second.ask(runOf("plain"), startRun(onePlan, { runId: "plain" }), localCaller, () => 0);
    await end(second);
    const third = await openTrimming(disk);
    expect(await third.getCredentialPolicy(namespace)).toMatchObject({
      ...{ mode: REDACT, version: 2, principal: "ann" },
    });
    await third.close();
  },
);
