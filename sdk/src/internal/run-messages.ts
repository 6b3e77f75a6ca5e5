import { randomUUID } from "node:crypto";
import { durationFromMs, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type PublishedValue,
  type UpdateAnswer,
  UpdateStatus,
} from "@pawl/proto/v1/run_service_pb.js";
import { PawlError } from "../errors.js";
import type { Published, PublishedInfo, Query } from "../queries.js";
import type { WaitOptions } from "../run.js";
import type { Schema } from "../schema.js";
import { UpdateRefused } from "../update-errors.js";
import type { Update, UpdateOptions } from "../updates.js";
import type { ClientCore } from "./client-core.js";
import { decodePayload, encodeValue } from "./codec.js";
import { checkId } from "./ids.js";
import { loadPayload } from "./load-payload.js";
import { callUnary, type UnaryOptions } from "./unary.js";
import { check, validate } from "./validate.js";
import { waitFor } from "./wait-for.js";

/** One call waits so long for an answer, in ms: less than the kernel's own bound. */
const WAIT_MS = 40_000;

/** Deadline of such a call, in ms. */
const CALL_MS = 55_000;

/** Updates and queries of one run, as its handle sends them. */
export class RunMessages {
  readonly #core: ClientCore;
  readonly #runId: string;

  constructor(core: ClientCore, runId: string) {
    this.#core = core;
    this.#runId = runId;
  }

  /** Sends an update, and waits for its answer. */
  async update(update: Update, payload: unknown, options: UpdateOptions): Promise<unknown> {
    const { updateId = randomUUID(), expectedVersion } = options;
    const what = `update "${update.name}"`;
    const checking = check(update.inputSchema, payload, what);
    const content = encodeValue(payload, what);
    await checking;
    const request = {
      ...this.#target(),
      name: update.name,
      updateId: checkId(updateId, "updateId"),
      wait: durationFromMs(WAIT_MS),
      ...(content === undefined ? {} : { payload: content }),
      ...(expectedVersion === undefined ? {} : { expectedVersion }),
    };
    const { api } = this.#core;
    const result = await this.#awaitAnswer(updateId, options, async (unary) => {
      const { answer } = await callUnary((call) => api.runs.updateRun(request, call), unary);
      return { name: update.name, answer };
    });
    return update.resultSchema === undefined ? undefined : result;
  }

  /** Waits for the answer to an update that was sent before. */
  updateResult(updateId: string, options: WaitOptions): Promise<unknown> {
    checkId(updateId, "updateId");
    return this.#awaitAnswer(updateId, options, (unary) => this.#getUpdate(updateId, unary));
  }

  async query<T>(to: string | Query<T>, schema?: Schema<unknown, T>): Promise<Published<T>> {
    const name = checkId(typeof to === "string" ? to : to.name, "the name of a query");
    const { api } = this.#core;
    const request = { ...this.#target(), name };
    const { value, published } = await callUnary(
      (call) => api.runs.queryRun(request, call),
      this.#core.unary(),
    );
    const decoded = decodePayload(value, `"${name}"`);
    const checked =
      schema === undefined ? (decoded as T) : await validate(schema, decoded, `"${name}"`, false);
    return { ...infoOf(present(published)), value: checked };
  }

  async queries(): Promise<readonly PublishedInfo[]> {
    const { api } = this.#core;
    const { published } = await callUnary(
      (call) => api.runs.listQueries(this.#target(), call),
      this.#core.unary(),
    );
    return published.map(infoOf);
  }

  /** Asks until there is an answer. What is waited for goes on when the caller gives up. */
  async #awaitAnswer(
    updateId: string,
    options: WaitOptions,
    first: (unary: UnaryOptions) => Promise<Standing>,
  ): Promise<unknown> {
    const stop = new AbortController();
    const patient = { patienceMs: Number.POSITIVE_INFINITY, callMs: CALL_MS };
    const unary = { ...this.#core.unary(stop.signal), ...patient };
    const answered = this.#until(updateId, first, unary);
    answered.catch(() => undefined);
    const what = `the answer to update "${updateId}" of run "${this.#runId}"`;
    try {
      return await waitFor(answered, options, what, this.#core.monitor);
    } finally {
      stop.abort();
    }
  }

  async #until(
    updateId: string,
    first: (unary: UnaryOptions) => Promise<Standing>,
    unary: UnaryOptions,
  ): Promise<unknown> {
    let { name, answer } = await first(unary);
    while (answer?.status === UpdateStatus.OPEN) {
      ({ name, answer } = await this.#getUpdate(updateId, unary));
    }
    if (answer?.status === UpdateStatus.REFUSED) {
      throw new UpdateRefused(name, updateId, answer.reason);
    }
    const { result } = present(answer);
    const { api, namespace } = this.#core;
    const blobs = { api, namespace, runId: this.#runId, unary: this.#core.unary() };
    const loaded = await loadPayload(result, blobs);
    return decodePayload(loaded, `the result of update "${name}"`);
  }

  #getUpdate(updateId: string, unary: UnaryOptions): Promise<Standing> {
    const { api } = this.#core;
    const request = { ...this.#target(), updateId, wait: durationFromMs(WAIT_MS) };
    return callUnary((call) => api.runs.getUpdate(request, call), unary);
  }

  #target(): { namespace: string; runId: string } {
    return { namespace: this.#core.namespace, runId: this.#runId };
  }
}

interface Standing {
  readonly name: string;
  readonly answer?: UpdateAnswer | undefined;
}

function infoOf(published: PublishedValue): PublishedInfo {
  const { name, version, publishedAt, task, attempt, incarnation, valueBytes } = published;
  const at = timestampDate(present(publishedAt));
  return { name, version, publishedAt: at, task, attempt, incarnation, valueBytes };
}

function present<T>(found: T | undefined): T {
  if (found === undefined) {
    throw new PawlError(
      "PAWL_UNKNOWN_ANSWER",
      "Expected the kernel to answer with what was asked for, but the answer is empty.",
    );
  }
  return found;
}
