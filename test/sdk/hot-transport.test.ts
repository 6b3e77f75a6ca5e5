// Goal: the hot streams carry what the generated messages say, byte for byte, although another codec writes and reads them.
import {
  type DescMessage,
  type DescMethodStreaming,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { StreamResponse, Transport } from "@connectrpc/connect";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { RunService, StartRunSchema } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { withHotCodecs } from "@pawl/sdk/internal/hot-transport.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageArbitrary, UNSHRUNK } from "../wire/message-arbitrary.js";

type Method = DescMethodStreaming<DescMessage, DescMessage>;

/** A wire: keeps the bytes that are sent, and answers with given bytes. */
function wire(answers: readonly Uint8Array[]) {
  const sent: Uint8Array[] = [];
  let ended: "returned" | "thrown" | undefined;
  async function* receive(schema: DescMessage): AsyncGenerator<Message> {
    try {
      for (const bytes of answers) yield fromBinary(schema, bytes);
    } finally {
      ended ??= "returned";
    }
  }
  const stream = async (
    ...[method, , , , input]: Parameters<Transport["stream"]>
  ): Promise<StreamResponse> => {
    for await (const message of input as AsyncIterable<Message>) {
      sent.push(toBinary(method.input, message));
    }
    return {
      stream: true,
      service: method.parent,
      method,
      header: new Headers(),
      trailer: new Headers(),
      message: receive(method.output),
    };
  };
  const unary = () => Promise.reject(new Error("Expected no unary call."));
  return { sent, transport: { stream, unary } as unknown as Transport, ended: () => ended };
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function open(transport: Transport, method: Method, requests: readonly Message[]) {
  const input = each(requests) as AsyncIterable<MessageInitShape<DescMessage>>;
  return withHotCodecs(transport).stream(method, undefined, undefined, undefined, input);
}

/** Each with some known field as it is encoded: `namespace` is "shop", `credits` is 7. */
const hot: readonly [string, Method, readonly number[]][] = [
  ["Submit", RunService.method.submit as unknown as Method, [0x0a, 4, 0x73, 0x68, 0x6f, 0x70]],
  ["Work", WorkerService.method.work as unknown as Method, [0x10, 14]],
];

describe.each(hot)("the hot stream %s", (_name, method, known) => {
  it("sends the bytes of the generated messages", async () => {
    await fc.assert(
      fc.asyncProperty(messageArbitrary(method.input, 4), async (request) => {
        const { sent, transport } = wire([]);
        await open(transport, method, [request]);
        // Read again, since fields may come in another order.
        const [bytes = new Uint8Array(1)] = sent;
        expect(fromBinary(method.input, bytes)).toEqual(
          fromBinary(method.input, toBinary(method.input, request)),
        );
      }),
      { numRuns: 150, ...UNSHRUNK },
    );
  });

  it("gives the generated messages for what comes", async () => {
    await fc.assert(
      fc.asyncProperty(messageArbitrary(method.output, 4), async (answer) => {
        const bytes = toBinary(method.output, answer);
        const { transport } = wire([bytes]);
        const response = await open(transport, method, []);
        expect(response.method).toBe(method);
        for await (const message of response.message) {
          expect(message).toEqual(fromBinary(method.output, bytes));
          expect(toBinary(method.output, message)).toEqual(bytes);
        }
      }),
      { numRuns: 150, ...UNSHRUNK },
    );
  });

  it("leaves the messages that it was given as they were", async () => {
    await fc.assert(
      fc.asyncProperty(messageArbitrary(method.input, 4), async (request) => {
        const before = toBinary(method.input, request);
        await open(wire([]).transport, method, [request]);
        expect(toBinary(method.input, request)).toEqual(before);
      }),
      { numRuns: 50, ...UNSHRUNK },
    );
  });

  it("reads an answer without a field", async () => {
    const response = await open(wire([new Uint8Array(0)]).transport, method, []);
    const got: Message[] = [];
    for await (const message of response.message) got.push(message);
    expect(got).toEqual([fromBinary(method.output, new Uint8Array(0))]);
  });

  it("passes on what the contract does not know, besides what it knows", async () => {
    // Field 5000, a text: "later".
    const unknown = [0xc2, 0xb8, 0x02, 0x05, 0x6c, 0x61, 0x74, 0x65, 0x72];
    const { sent, transport } = wire([]);
    const bytes = Uint8Array.from([...known, ...unknown]);
    await open(transport, method, [fromBinary(method.input, bytes)]);
    expect(sent.map((one) => [...one])).toEqual([[...bytes]]);
  });

  it("lets its source end when the reader has enough", async () => {
    const { transport, ended } = wire([new Uint8Array(0), new Uint8Array(0)]);
    const response = await open(transport, method, []);
    for await (const _ of response.message) break;
    expect(ended()).toBe("returned");
  });
});

describe("what it writes", () => {
  it("refuses a text that would not arrive as it is", async () => {
    const start = fromBinary(StartRunSchema, new Uint8Array(0));
    start.runId = "run-\ud800";
    const { transport } = wire([]);
    const method = RunService.method.submit as unknown as Method;
    const request = {
      $typeName: "pawl.v1.SubmitRequest",
      namespace: "",
      starts: [start],
      signals: [],
      waits: [],
    };
    await expect(open(transport, method, [request as Message])).rejects.toThrow(/surrogate/i);
  });

  it("encodes a plan once for all runs that send it", async () => {
    const plan = fromBinary(PlanSchema, new Uint8Array(0));
    let reads = 0;
    Object.defineProperty(plan, "output", {
      enumerable: true,
      get: () => {
        reads++;
        return "fetch";
      },
    });
    const start = fromBinary(StartRunSchema, new Uint8Array(0));
    start.plan = plan;
    start.input = fromBinary(PayloadSchema, new Uint8Array(0));
    const { sent, transport } = wire([]);
    const method = RunService.method.submit as unknown as Method;
    const request = {
      $typeName: "pawl.v1.SubmitRequest",
      namespace: "",
      starts: [start],
      signals: [],
      waits: [],
    };
    await open(transport, method, [request as Message]);
    const readsOfOne = reads;
    expect(readsOfOne).toBeGreaterThan(0);
    await open(transport, method, [request as Message]);
    expect(reads).toBe(readsOfOne);
    const [first, second] = sent.map((bytes) => fromBinary(method.input, bytes));
    expect(first).toEqual(second);
    expect(JSON.stringify(first)).toContain('"output":"fetch"');
  });
});
