import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { ErrorInfoSchema, RetryInfoSchema } from "@pawl/proto/google/rpc/error_details_pb.js";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { Refusal } from "./refusal.js";
import type { RpcClient } from "./rpc-client.js";

/** A client of Connect JSON that is nothing but `fetch` over HTTP/1.1, as curl would be. */
export class JsonClient implements RpcClient {
  readonly #base: string;
  readonly #authorization: Readonly<Record<string, string>>;

  /** @param token sent with every call. */
  constructor(port: number, token?: string) {
    this.#base = `http://127.0.0.1:${port}`;
    this.#authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  async unary<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>> {
    const body = JSON.stringify(toJson(method.input, create(method.input, request)));
    const { json } = await this.post(method, body);
    return fromJson<M["output"]>(method.output, json);
  }

  /** Calls with a body that may be no message at all. Refusals are thrown. */
  async post(
    method: DescMethod,
    body: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly json: JsonValue }> {
    const response = await fetch(`${this.#base}${pathOf(method)}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...this.#authorization, ...headers },
      body,
    });
    const text = await response.text();
    const json: JsonValue = text === "" ? null : JSON.parse(text);
    if (response.status !== 200) {
      throw toRefusal(json);
    }
    return { status: response.status, json };
  }

  /** A request of any kind. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#base}${path}`, init);
  }

  async *stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): AsyncIterable<MessageShape<M["output"]>> {
    const body = envelope(JSON.stringify(toJson(method.input, create(method.input, request))));
    const aborter = new AbortController();
    const response = await fetch(`${this.#base}${pathOf(method)}`, {
      method: "POST",
      headers: { "content-type": "application/connect+json", ...this.#authorization },
      body,
      signal: aborter.signal,
    });
    try {
      for await (const { flags, text } of readEnvelopes(response)) {
        const json: JsonValue = JSON.parse(text);
        if (flags === 2) {
          if (typeof json === "object" && json !== null && !Array.isArray(json) && json["error"]) {
            throw toRefusal(json["error"]);
          }
          return;
        }
        yield fromJson<M["output"]>(method.output, json);
      }
    } finally {
      aborter.abort();
    }
  }
}

function envelope(text: string): Buffer {
  const data = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

async function* readEnvelopes(
  response: Response,
): AsyncIterable<{ readonly flags: number; readonly text: string }> {
  let buffered = Buffer.alloc(0);
  for await (const chunk of response.body ?? []) {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 5 && buffered.length >= 5 + buffered.readUInt32BE(1)) {
      const end = 5 + buffered.readUInt32BE(1);
      yield { flags: buffered[0] ?? 0, text: buffered.subarray(5, end).toString("utf8") };
      buffered = buffered.subarray(end);
    }
  }
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** The refusal in a Connect error. */
export function toRefusal(json: JsonValue): Refusal {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return new Refusal({ code: "?", message: JSON.stringify(json) });
  }
  const details = Array.isArray(json["details"]) ? json["details"] : [];
  const unpack = <D extends DescMessage>(schema: D): MessageShape<D> | undefined => {
    for (const detail of details) {
      if (isDetail(detail) && detail.type === schema.typeName) {
        return fromBinary(schema, Buffer.from(detail.value, "base64"));
      }
    }
    return undefined;
  };
  const info = unpack(ErrorInfoSchema);
  const delay = unpack(RetryInfoSchema)?.retryDelay;
  return new Refusal({
    code: String(json["code"]).toUpperCase(),
    message: String(json["message"] ?? ""),
    reason: info?.reason,
    domain: info?.domain,
    rejection: unpack(RejectionSchema),
    retryAfterMs:
      delay === undefined ? undefined : Number(delay.seconds) * 1000 + delay.nanos / 1e6,
  });
}

function isDetail(
  value: JsonValue,
): value is { readonly type: string; readonly value: string } & JsonValue {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    typeof value["type"] === "string" &&
    typeof value["value"] === "string"
  );
}
