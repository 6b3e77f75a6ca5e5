import type {
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { CallContext } from "../call-scope.js";

/** Answers one request. Refusals are thrown as RejectionError; anything else that is thrown is a fault of the kernel. */
export type UnaryHandler<M extends DescMethodUnary> = (
  request: MessageShape<M["input"]>,
  call: CallContext,
) => Promise<MessageInitShape<M["output"]>>;

/** Answers one request with a stream. It is ended, and its cleaning up done, when the caller goes. */
export type StreamHandler<M extends DescMethodServerStreaming> = (
  request: MessageShape<M["input"]>,
  call: CallContext,
) => AsyncIterable<MessageInitShape<M["output"]>>;

/** Answers a stream with a stream, message by message. Not for the hot streams, which take raw bytes. */
export type DuplexHandler<M extends DescMethodBiDiStreaming> = (
  requests: AsyncIterable<MessageShape<M["input"]>>,
  call: CallContext,
) => AsyncIterable<MessageInitShape<M["output"]>>;

/** The handler of a method, whatever its kind. */
export type MethodHandler<M extends DescMethod> = M extends DescMethodUnary
  ? UnaryHandler<M>
  : M extends DescMethodServerStreaming
    ? StreamHandler<M>
    : M extends DescMethodBiDiStreaming
      ? DuplexHandler<M>
      : never;

/** The handlers of a service; `Raw` names its methods that are served on bytes instead. */
export type ServiceHandlers<S extends DescService, Raw extends string = never> = {
  readonly [P in Exclude<keyof S["method"], Raw>]: S["method"][P] extends DescMethod
    ? MethodHandler<S["method"][P]>
    : never;
};
