import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";

/** A client of either protocol. */
export interface RpcClient {
  /** Calls once. Refusals are thrown as `Refusal`. */
  unary<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>>;
  /** Calls and reads the stream of answers. */
  stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): AsyncIterable<MessageShape<M["output"]>>;
}
