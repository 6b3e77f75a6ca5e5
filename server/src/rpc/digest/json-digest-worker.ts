import { parentPort } from "node:worker_threads";
import { computeJsonDigest, type JsonDigest } from "./json-digest.js";

/** One document to digest. The bytes are the worker's own: the sender has transferred them. */
export interface JsonDigestJob {
  readonly job: number;
  readonly data: Uint8Array;
}

/** The answer to one job; jobs are answered in the order in which they came. */
export interface JsonDigestReply {
  readonly job: number;
  readonly result: JsonDigest;
}

parentPort?.on("message", ({ job, data }: JsonDigestJob) => {
  const reply: JsonDigestReply = { job, result: computeJsonDigest(data) };
  parentPort?.postMessage(reply);
});
