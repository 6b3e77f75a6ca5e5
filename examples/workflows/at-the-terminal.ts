import { createInterface } from "node:readline/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { Client, Run } from "@pawl/sdk";

/** Asks whoever sits at this terminal what a run asks people, until the run has ended. */
export async function answerAtTerminal(client: Client, run: Run): Promise<void> {
  const terminal = createInterface({ input: process.stdin });
  const lines = terminal[Symbol.asyncIterator]();
  const ask = async (question: string): Promise<string> => {
    process.stdout.write(`${question} `);
    const { value, done } = await lines.next();
    if (done === true) throw new Error("Expected an answer, but nobody is at the terminal.");
    return value.trim();
  };
  let isOver = false;
  const end = run.result().then(
    () => (isOver = true),
    () => (isOver = true),
  );
  while (!isOver) {
    for await (const { inputId, question, version } of client.inputs.list({ runId: run.runId })) {
      await client.inputs.provide(inputId, JSON.parse(await ask(question)), version);
    }
    const pending = { runId: run.runId, status: "pending" } as const;
    for await (const { proposalId } of client.approvals.list(pending)) {
      const shown = await client.approvals.get(proposalId);
      const what = `${shown.operation} on ${shown.target}: ${JSON.stringify(shown.content)}`;
      if ((await ask(`May this be done? ${what} (yes/no)`)) === "yes") {
        await client.approvals.approve(shown);
      } else {
        await client.approvals.reject(shown, { reason: "not today" });
      }
    }
    await Promise.race([end, pause(50)]);
  }
  terminal.close();
}
