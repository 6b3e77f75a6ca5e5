import { workflow } from "@pawl/sdk";
import { testSink } from "@pawl/sdk/testing";

const bank = testSink({ name: "bank" });

/** Planted: it charges between two steps, where a crash makes it charge again. */
export const careless = workflow("careless", { version: 1 }).run(async (ctx) => {
  await ctx.step("prepare", () => 1);
  bank.call({ key: "charged by hand" }, () => null);
  await ctx.step("note", () => 2);
});
