import { fromBinary } from "@bufbuild/protobuf";
import {
  type GetRecordsRequest,
  type GetRecordsResponse,
  GetRecordsResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import {
  encodeGetRecordsResponse,
  type GetRecordsResponseShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import { holds, leaseLost } from "../../core/lease-standing.js";
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { keepEncoded } from "../encoded-answers.js";
import { recordedNames } from "../streams/recorded-names.js";
import { recordPage } from "../streams/records.js";
import { leaseOfRequest, type NamedLease } from "./requests.js";

/** Streams the recorded steps of a leased task and the outcomes of its waits, in order. */
export async function* getRecords(
  edge: Edge,
  request: GetRecordsRequest,
): AsyncIterable<GetRecordsResponse> {
  const lease = leaseOfRequest(request);
  let after = request.afterNumber;
  for (;;) {
    const from = after;
    const { page, recorded } = await edge.kernel.view(lease.target, (run, runNumber) => {
      const number = requireLease(run, lease);
      const named = from === 0 ? recordedNames(run, run.tasks[number]?.rollsBack ?? number) : [];
      return { page: recordPage(run, number, from, runNumber), recorded: named };
    });
    if (page.last === 0 && recorded.length === 0) {
      return;
    }
    yield pageMessage({ steps: page.steps, outcomes: page.outcomes, recorded });
    if (!page.hasMore) {
      return;
    }
    after = page.last;
  }
}

/** A page is encoded by the straight-line codec: there may be tens of thousands of records, and a function waits for them. */
function pageMessage(shape: GetRecordsResponseShape): GetRecordsResponse {
  const bytes = encodeGetRecordsResponse(shape);
  return keepEncoded(new Page(bytes), bytes);
}

/** A page whose fields are decoded when somebody looks at them: only who sends it as JSON does. */
class Page implements GetRecordsResponse {
  readonly $typeName: GetRecordsResponse["$typeName"] = GetRecordsResponseSchema.typeName;
  readonly #bytes: Uint8Array;
  #decoded: GetRecordsResponse | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get steps(): GetRecordsResponse["steps"] {
    return this.#fields.steps;
  }

  get outcomes(): GetRecordsResponse["outcomes"] {
    return this.#fields.outcomes;
  }

  get recorded(): GetRecordsResponse["recorded"] {
    return this.#fields.recorded;
  }

  get #fields(): GetRecordsResponse {
    this.#decoded ??= fromBinary(GetRecordsResponseSchema, this.#bytes);
    return this.#decoded;
  }
}

function requireLease(run: Run, { task: name, leaseVersion }: NamedLease): number {
  const number = taskNumber(run, name);
  const task = number === undefined ? undefined : run.tasks[number];
  if (task === undefined) {
    throw new RejectionError(notFound("task", name));
  }
  if (!holds(task, leaseVersion)) {
    throw new RejectionError(leaseLost(task, leaseVersion));
  }
  return task.number;
}
