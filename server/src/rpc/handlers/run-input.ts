import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { InputRequestSchema, InputStatus } from "@pawl/proto/v1/input_pb.js";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import type {
  GetInputRequest,
  GetInputResponseSchema,
  ListInputsRequest,
  ListInputsResponseSchema,
  ProvideInputRequest,
  ProvideInputResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { ProvideInput } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import type { Page, PageRequest } from "../../kernel/kernel-api.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import { admit } from "../admission.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { readPage } from "../page-request.js";
import { badField } from "../refusals.js";
import { askerOf, requireAnswer } from "../schema/check-answer.js";
import type { SchemaAsker } from "../schema/schema-checker.js";
import {
  readNamespace,
  requireId,
  requireKnown,
  requireNumber,
  requireReason,
  requireText,
} from "../validate/fields.js";
import { inputView } from "../views/input-view.js";
import { parsePartId } from "../views/part-id.js";
import { pageOfRun, viewPart } from "./parts-of-run.js";
import { withPartId } from "./with-part-id.js";

type InputInit = MessageInitShape<typeof InputRequestSchema>;

/** Answers or declines an input request. */
export async function provideInput(
  edge: Edge,
  request: ProvideInputRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ProvideInputResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { inputId, expectedVersion } = request;
  const { runNumber, part: input, incarnation } = parsePartId("input", inputId);
  requireNumber(expectedVersion, "expected_version", { min: 1, max: 0xffff_ffff });
  const target: Target = { kind: "number", number: runNumber, namespace };
  return await withPartId("input", inputId, async () => {
    const answer = await answerOf(edge, request, {
      ...{ target, input },
      asker: askerOf(namespace, call),
    });
    const named = { kind: "ProvideInput", incarnation, input } as const;
    const command = { ...named, expectedVersion, answer };
    const order = { target, command };
    const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
      existing: reply.existing,
      version: run.inputs[input]?.version ?? 0,
    }));
    return { ...value, position };
  });
}

/** The answer, which its schema admits. */
async function answerOf(
  edge: Edge,
  { answer }: ProvideInputRequest,
  asked: { readonly target: Target; readonly input: number; readonly asker: SchemaAsker },
): Promise<ProvideInput["answer"]> {
  switch (answer.case) {
    case "given": {
      const bytes = toBinary(PayloadSchema, answer.value);
      const schema = await edge.kernel.view(asked.target, (run) => schemaOf(run, asked.input));
      await requireAnswer({ edge, asker: asked.asker }, schema, bytes);
      const admitted = await admit(edge, asked.target, bytes, "given");
      return { case: "given", value: admitted ?? bytes };
    }
    case "declined":
      requireReason(answer.value, "declined", 1);
      return answer;
    default:
      throw badField("answer", "one of given, declined", "absent");
  }
}

/** The schema of a request never changes, so it may be read before the answer is decided. */
function schemaOf(run: Run, number: number): string {
  const wait = run.waits[run.inputs[number]?.wait ?? -1];
  if (wait?.declaration.subject.case !== "input") {
    throw new RejectionError(notFound("input", `${number}`));
  }
  return wait.declaration.subject.value.schema;
}

/** Reads one input request, with its answer. */
export async function getInput(
  edge: Edge,
  { namespace, inputId: id }: GetInputRequest,
): Promise<MessageInitShape<typeof GetInputResponseSchema>> {
  const input = await viewPart(edge, namespace, { entity: "input", id }, (run, numbers) =>
    inputView(run, numbers.part, { runNumber: numbers.runNumber, withAnswer: true }),
  );
  return { input };
}

/** Lists input requests: the open ones of a namespace, or those of a run. */
export async function listInputs(
  edge: Edge,
  request: ListInputsRequest,
): Promise<MessageInitShape<typeof ListInputsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { runId } = request;
  const page = readPage(InputRequestSchema, request);
  requireKnown(request.status, "status", InputStatus);
  const isOpen = request.status === InputStatus.UNSPECIFIED || request.status === InputStatus.OPEN;
  if (runId === "" && !isOpen) {
    throw badField("status", "OPEN unless run_id is set", "another one");
  }
  const addressee = readAddressee(request);
  if (runId !== "") {
    requireId("run_id", runId, "run_id");
  }
  const status = isOpen ? InputStatus.OPEN : request.status;
  const filter = { namespace, runId, addressee, status };
  const { items, nextPageToken } =
    runId === ""
      ? await edge.kernel.listInputs(
          { namespace, addressee },
          page,
          (run, runNumber, input) => inputView(run, input, { runNumber, withAnswer: false }) ?? {},
        )
      : await listOfRun(edge, filter, page);
  return { inputs: [...items], nextPageToken };
}

/** The addressee that is wanted, empty for anybody; undefined: all of them. */
function readAddressee({ addressee, forAnybody }: ListInputsRequest): string | undefined {
  requireText(addressee, "addressee", { min: 0, max: limits.idBytesMax });
  if (forAnybody && addressee !== "") {
    throw badField("addressee", "empty with for_anybody", "another one");
  }
  return addressee === "" && !forAnybody ? undefined : addressee;
}

interface RunFilter {
  readonly namespace: string;
  readonly runId: string;
  readonly addressee: string | undefined;
  readonly status: InputStatus;
}

function listOfRun(
  edge: Edge,
  { namespace, runId, addressee, status }: RunFilter,
  page: PageRequest<InputInit>,
): Promise<Page<InputInit>> {
  const filter = ["inputs", runId, `${status}`, ...(addressee === undefined ? [] : [addressee])];
  return pageOfRun(
    edge,
    { kind: "run", namespace, runId },
    { filter, page },
    {
      count: ({ inputs }) => inputs.length,
      rowOf: (run, number, runNumber) => {
        const input = inputView(run, number, { runNumber, withAnswer: false });
        const isWanted =
          input?.status === status && (addressee === undefined || input.addressee === addressee);
        return isWanted ? input : undefined;
      },
    },
  );
}
