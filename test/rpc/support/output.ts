import type { MessageInitShape } from "@bufbuild/protobuf";
import type { OutputChunk, OutputEnd } from "@pawl/proto/v1/output_pb.js";
import {
  type ReadOutputRequestSchema,
  type ReadOutputResponse,
  RunService,
} from "@pawl/proto/v1/run_service_pb.js";
import {
  type EmitOutputResponse,
  type Offer,
  WorkerService,
} from "@pawl/proto/v1/worker_service_pb.js";
import { runStatusName, taskStatusName } from "@pawl/server/core/transitions.js";
import { json, leaseRef, textOf } from "./fixtures.js";
import type { RpcClient } from "./rpc-client.js";

/** Emits chunks of one channel; the content of each is its number. */
export function emit(
  client: RpcClient,
  offer: Offer,
  numbers: readonly number[],
  channel = "",
): Promise<EmitOutputResponse> {
  return client.unary(WorkerService.method.emitOutput, {
    lease: leaseRef(offer),
    chunks: numbers.map((number) => ({ channel, number, payload: json(number) })),
  });
}

/** What a message told, entry by entry, in few words. */
export function wordsOf({ entries }: ReadOutputResponse): string[] {
  return entries.map(({ entry }) => {
    switch (entry.case) {
      case "chunk":
        return chunkWords(entry.value);
      case "reset":
        return `reset ${entry.value.task} ${entry.value.attempt}.${entry.value.leaseVersion}`;
      case "end":
        return endWords(entry.value);
      default:
        return "nothing";
    }
  });
}

function chunkWords(chunk: OutputChunk): string {
  const { task, attempt, leaseVersion, channel, number, dropped, payload } = chunk;
  const where = `${task} ${attempt}.${leaseVersion}${channel === "" ? "" : ` ${channel}`}`;
  return `${where} #${number}${droppedWords(dropped)}: ${textOf(payload)}`;
}

function endWords({ task, taskStatus, runStatus, dropped, forgotten }: OutputEnd): string {
  const how =
    task === "" ? `run ${runStatusName(runStatus)}` : `${task} ${taskStatusName(taskStatus)}`;
  return `end ${how}${droppedWords(dropped)}${forgotten ? " forgotten" : ""}`;
}

function droppedWords(dropped: number): string {
  return dropped === 0 ? "" : ` dropped ${dropped}`;
}

/** A reader that a test holds in its hands. */
export class TestReader {
  readonly #iterator: AsyncIterator<ReadOutputResponse>;
  readonly #words: string[] = [];

  private constructor(iterator: AsyncIterator<ReadOutputResponse>) {
    this.#iterator = iterator;
  }

  /** Reads from now on: the kernel knows of it. */
  static async open(
    client: RpcClient,
    request: MessageInitShape<typeof ReadOutputRequestSchema>,
  ): Promise<TestReader> {
    const stream = client.stream(RunService.method.readOutput, request);
    const reader = new TestReader(stream[Symbol.asyncIterator]());
    await reader.#iterator.next();
    return reader;
  }

  /** The next so many words. */
  async take(count: number): Promise<string[]> {
    while (this.#words.length < count) {
      const { done, value } = await this.#iterator.next();
      if (done === true) break;
      this.#words.push(...wordsOf(value));
    }
    return this.#words.splice(0, count);
  }

  /** Everything to its end. */
  async rest(): Promise<string[]> {
    return await this.take(Number.POSITIVE_INFINITY);
  }

  /** Goes away. */
  async leave(): Promise<void> {
    await this.#iterator.return?.();
  }
}

/** All that a reader is told, to its end. */
export async function readAll(
  client: RpcClient,
  request: MessageInitShape<typeof ReadOutputRequestSchema>,
): Promise<string[]> {
  const reader = await TestReader.open(client, request);
  return await reader.rest();
}
