import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import type { JsonDigest } from "@pawl/server/rpc/digest/json-digest.js";
import {
  JSON_DIGEST_INLINE_BYTES_MAX,
  JsonDigester,
} from "@pawl/server/rpc/digest/json-digester.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const run = promisify(execFile);

const documentOf = (letters: number): Buffer =>
  Buffer.from(`{"b":"${"x".repeat(letters)}","a":[1.50,true,null]}`, "utf8");
const hexOf = (result: JsonDigest): string =>
  result.ok ? Buffer.from(result.digest.digest).toString("hex") : result.refusal.message;

// SHA-256 of {"a":[1.5,true,null],"b":"xx…"} with 10 and with 70,000 letters, by Python's hashlib.
const SHORT = "813f48213a77a219b415b30307c0b27050deb8f3f667b1354e044faff9852b3e";
const LONG = "bb7dea68bd4cec48c229495d59d5b5edff66bbdf7e98d6bcbb967fd64874f9e9";

describe("JsonDigester", () => {
  let digester: JsonDigester;
  let workers: Worker[];
  const collect = (worker: Worker): void => {
    workers.push(worker);
  };

  beforeEach(() => {
    workers = [];
    process.on("worker", collect);
    digester = new JsonDigester();
  });

  afterEach(async () => {
    process.off("worker", collect);
    await digester.close();
  });

  it("digests short documents on the calling thread", async () => {
    expect(hexOf(await digester.digestJson(documentOf(10)))).toBe(SHORT);
    const longest = Buffer.from(`"${"x".repeat(JSON_DIGEST_INLINE_BYTES_MAX - 2)}"`, "utf8");
    expect((await digester.digestJson(longest)).ok).toBe(true);
    expect(workers).toHaveLength(0);
  });

  it("digests documents above 64 KiB in one thread, with the same result", async () => {
    const results = await Promise.all([1, 2, 3].map(() => digester.digestJson(documentOf(70_000))));
    expect(results.map(hexOf)).toEqual([LONG, LONG, LONG]);
    expect(workers).toHaveLength(1);
  });

  it("refuses long documents as it does short ones", async () => {
    const data = Buffer.from(`{"a":"${"x".repeat(70_000)}","b":[1e400]}`, "utf8");
    const result = await digester.digestJson(data);
    expect(result).toEqual({
      ok: false,
      refusal: expect.objectContaining({
        code: "PAWL_JSON_REFUSED",
        reason: "number_overflow",
        offset: 70_013,
        path: "/b/0",
      }),
    });
  });

  it("takes the bytes when called: the caller's buffer, a view of a larger one, may be used again", async () => {
    const shared = Buffer.alloc(100_000, "#");
    const length = documentOf(70_000).copy(shared, 5);
    const digesting = digester.digestJson(shared.subarray(5, 5 + length));
    shared.fill("!");
    expect(shared.toString("latin1")).toBe("!".repeat(100_000));
    expect(hexOf(await digesting)).toBe(LONG);
  });

  it("rejects what is under way when its thread dies, and starts another for what comes next", async () => {
    process.once("worker", (worker: Worker) => void worker.terminate());
    const digesting = digester.digestJson(documentOf(70_000));
    await expect(digesting).rejects.toMatchObject({ code: "PAWL_DIGEST_WORKER_FAILED" });
    expect(hexOf(await digester.digestJson(documentOf(70_000)))).toBe(LONG);
    expect(workers).toHaveLength(2);
  });

  it("rejects what is under way, and all that comes later, when closed", async () => {
    const digesting = digester.digestJson(documentOf(70_000));
    const closing = digester.close();
    await expect(digesting).rejects.toMatchObject({ code: "PAWL_DIGESTER_CLOSED" });
    await closing;
    for (const letters of [10, 70_000]) {
      const later = digester.digestJson(documentOf(letters));
      await expect(later).rejects.toMatchObject({ code: "PAWL_DIGESTER_CLOSED" });
    }
    await digester.close();
  });

  it("keeps its process alive while it digests and not a moment longer", async () => {
    const hooks = new URL("../../support/source-hooks.mjs", import.meta.url).href;
    const program = fileURLToPath(new URL("./fixtures/idle-digester.mjs", import.meta.url));
    const { stdout } = await run(process.execPath, ["--import", hooks, program], {
      timeout: 30_000,
    });
    expect(stdout).toBe("digested digested ");
  });
});
