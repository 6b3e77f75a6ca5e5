import type {
  DescMessage,
  DescMethodStreaming,
  Message,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { StreamResponse, Transport } from "@connectrpc/connect";
import {
  RunService,
  SubmitRequestSchema,
  SubmitResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import {
  decodeSubmitResponse,
  encodeSubmitRequest,
  type SubmitRequestShape,
} from "@pawl/proto/v1/run_service_wire.js";
import {
  GetRecordsRequestSchema,
  GetRecordsResponseSchema,
  WorkerService,
  WorkRequestSchema,
  WorkResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import {
  decodeGetRecordsResponse,
  decodeWorkResponse,
  encodeWorkRequest,
  type WorkRequestShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import { bytesOf, encodedMessage } from "./encoded-message.js";
import { toMessage, toShape } from "./wire-messages.js";

/** How the messages of a hot method are written and read. */
interface HotMethod {
  encode(request: Message): Uint8Array;
  decode(bytes: Uint8Array): Message;
}

/** The two streams on which nearly everything rides, and the one on which long histories come. */
const hotMethods: ReadonlyMap<unknown, HotMethod> = new Map<unknown, HotMethod>([
  [
    RunService.method.submit,
    {
      encode: (request) =>
        encodeSubmitRequest(toShape(SubmitRequestSchema, request) as SubmitRequestShape),
      decode: (bytes) => toMessage(SubmitResponseSchema, decodeSubmitResponse(bytes)),
    },
  ],
  [
    WorkerService.method.work,
    {
      encode: (request) =>
        encodeWorkRequest(toShape(WorkRequestSchema, request) as WorkRequestShape),
      decode: (bytes) => toMessage(WorkResponseSchema, decodeWorkResponse(bytes)),
    },
  ],
  [
    WorkerService.method.getRecords,
    {
      encode: (request) =>
        toBinary(GetRecordsRequestSchema, request as MessageShape<typeof GetRecordsRequestSchema>),
      decode: (bytes) => toMessage(GetRecordsResponseSchema, decodeGetRecordsResponse(bytes)),
    },
  ],
]);

/**
 * A transport that writes and reads the messages of the hot streams with the straight-line codecs of `@pawl/proto`, which take a fraction of the
 * reflective one's time and memory; to `inner` such a stream carries messages of no known field. Everything else goes to `inner` as it is.
 */
export function withHotCodecs(inner: Transport): Transport {
  return {
    unary: inner.unary.bind(inner),
    stream<I extends DescMessage, O extends DescMessage>(
      ...[method, signal, timeoutMs, header, input, contextValues]: Parameters<
        typeof inner.stream<I, O>
      >
    ): Promise<StreamResponse<I, O>> {
      const hot = hotMethods.get(method);
      return hot === undefined
        ? inner.stream(method, signal, timeoutMs, header, input, contextValues)
        : streamEncoded(hot, method, (bare) =>
            inner.stream(
              bare,
              signal,
              timeoutMs,
              header,
              mapEach(input, (request) => encodeRequest(hot, method.input, request)),
              contextValues,
            ),
          );
    },
  };
}

type BareMethod = DescMethodStreaming<typeof EmptySchema, typeof EmptySchema>;

async function streamEncoded<I extends DescMessage, O extends DescMessage>(
  hot: HotMethod,
  method: DescMethodStreaming<I, O>,
  open: (bare: BareMethod) => Promise<StreamResponse<typeof EmptySchema, typeof EmptySchema>>,
): Promise<StreamResponse<I, O>> {
  const bare = { ...method, input: EmptySchema, output: EmptySchema } as BareMethod;
  const response = await open(bare);
  const message = mapEach(
    response.message,
    // The method's own codec made it, so it is of the method's type.
    (answer) => hot.decode(bytesOf(answer)) as MessageShape<O>,
  );
  return { ...response, method, message };
}

function encodeRequest<I extends DescMessage>(
  hot: HotMethod,
  schema: I,
  request: MessageInitShape<I>,
): MessageShape<typeof EmptySchema> {
  const message: Message = create(schema, request);
  const known = hot.encode(message);
  // Fields that this contract does not know were read from another kernel or client: they are passed on as they came.
  return encodedMessage(
    EmptySchema,
    message.$unknown === undefined ? known : Buffer.concat([known, bytesOf(message)]),
  );
}

/** As an async generator would, but without its promise per message; ends and failures reach the source as they are. */
function mapEach<From, To>(
  source: AsyncIterable<From>,
  change: (item: From) => To,
): AsyncIterable<To> {
  return {
    [Symbol.asyncIterator](): AsyncIterator<To> {
      const items = source[Symbol.asyncIterator]();
      const pass = async (next: Promise<IteratorResult<From>>): Promise<IteratorResult<To>> => {
        const result = await next;
        return result.done === true
          ? { done: true, value: undefined }
          : { done: false, value: change(result.value) };
      };
      const mapped: AsyncIterator<To> = { next: () => pass(items.next()) };
      if (items.return !== undefined) {
        const end = items.return.bind(items);
        mapped.return = () => pass(end());
      }
      if (items.throw !== undefined) {
        const fail = items.throw.bind(items);
        mapped.throw = (error: unknown) => pass(fail(error));
      }
      return mapped;
    },
  };
}
