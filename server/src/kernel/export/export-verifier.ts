/** Checks an export of runs line by line, from nothing but its bytes: its own chain, the hashes and links of chunks, the events in them, content, seals. */

import { encodeEvent, readEvent } from "@pawl/proto/log/v1/event_wire.js";
import { WireReader } from "@pawl/proto/wire/reader.js";
import { toHex } from "../../log/bytes.js";
import {
  CHUNK_ORIGIN,
  type Chunk,
  type ChunkPoint,
  chunkPointOf,
  readChunk,
  verifyChunkLink,
} from "../../log/chunk.js";
import { eventsOf } from "../../log/event-frames.js";
import { chunkKey } from "../../log/key.js";
import type { EventSlice } from "../../log/segment.js";
import { sha256 } from "../../log/sha256.js";
import { StoreDamaged } from "../../log/store-errors.js";
import { sealsOf } from "../../log/verify-seals.js";
import { EXPORT_FORMAT, ExportChain } from "./export-chain.js";
import {
  booleanIn,
  bytesIn,
  type Fields,
  isFields,
  numberIn,
  objectIn,
  textIn,
} from "./export-fields.js";

/** Something in an export is not as it was written. */
export class ExportDamaged extends Error {
  override readonly name = "ExportDamaged";
  /** From 1. */
  readonly line: number;

  constructor(line: number, message: string, options?: ErrorOptions) {
    super(`Line ${line}: ${message}`, options);
    this.line = line;
  }
}

/** What an export holds, once all of it was found sound. */
export interface ExportCounts {
  readonly lines: number;
  readonly runs: number;
  readonly events: number;
  readonly chunks: number;
  /** False: the store's seals are not part of it, since whoever exported it may not read the store's own history. */
  readonly seals: boolean;
  /** Chunks whose hash a seal in the export confirms. */
  readonly sealedChunks: number;
  readonly contents: number;
  readonly operations: number;
  readonly proposals: number;
  readonly storeId: string;
  readonly storeEpoch: number;
}

/** One run while its lines come. */
class RunLines {
  readonly runNumber: number;
  readonly name: string;
  point: ChunkPoint = CHUNK_ORIGIN;
  /** Digests of the events in chunks and slices, in order: what the readable events must be. */
  readonly digests: string[] = [];
  events = 0;
  chunks = 0;
  operations = 0;
  proposals = 0;
  contents = 0;
  content: { readonly sha256: string; parts: number; readonly bytes: Uint8Array[] } | undefined;

  constructor(runNumber: number, name: string) {
    this.runNumber = runNumber;
    this.name = name;
  }
}

/** Reads an export, a line at a time. */
export class ExportVerifier {
  readonly #chain = new ExportChain();
  #line = 0;
  #store: { readonly id: string; readonly epoch: number; readonly seals: boolean } | undefined;
  #run: RunLines | undefined;
  #isEnded = false;
  /** Hashes of the chunks of all runs, by place; the seals come last. */
  readonly #chunks = new Map<string, string>();
  readonly #sealed = new Set<string>();
  readonly #counts = { runs: 0, events: 0, contents: 0, operations: 0, proposals: 0 };

  /** Takes in the next line, without its line feed. @throws ExportDamaged */
  line(text: string): void {
    this.#line++;
    if (this.#isEnded) {
      throw this.#bad("Expected the export to end with the line before, but more comes.");
    }
    const fields = this.#parse(text);
    try {
      this.#take(textIn(fields, "kind"), fields);
    } catch (error) {
      if (error instanceof ExportDamaged) {
        throw error;
      }
      if (
        error instanceof StoreDamaged ||
        error instanceof TypeError ||
        error instanceof RangeError
      ) {
        throw this.#bad(`${error.message}.`.replace("..", "."));
      }
      throw error;
    }
  }

  /** The end of the file. @throws ExportDamaged when the export is not whole. */
  finish(): ExportCounts {
    if (!this.#isEnded || this.#store === undefined) {
      this.#line++;
      throw this.#bad(
        "Expected a line of kind `end`, but the file is over: the export is not whole. Next: export again.",
      );
    }
    return {
      ...this.#counts,
      lines: this.#line,
      chunks: this.#chunks.size,
      seals: this.#store.seals,
      sealedChunks: this.#sealed.size,
      storeId: this.#store.id,
      storeEpoch: this.#store.epoch,
    };
  }

  #parse(text: string): Fields {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw this.#bad(
        "Expected a JSON object, but it is none. Next: is this a file of `pawl run export`?",
        cause,
      );
    }
    if (!isFields(value)) {
      throw this.#bad("Expected a JSON object, but it is another value.");
    }
    if (this.#line === 1 && (value["kind"] !== "header" || value["format"] !== EXPORT_FORMAT)) {
      throw this.#bad(
        `Expected the header of an export in format ${EXPORT_FORMAT}, but it is ${value["kind"] === "header" ? `of format ${String(value["format"])}` : "none"}.`,
      );
    }
    if (!this.#chain.read(text)) {
      throw this.#bad(
        "Expected a line whose chain follows from the line before and its own bytes, but it does not: it was changed, or lines are missing before it.",
      );
    }
    return value;
  }

  #take(kind: string, fields: Fields): void {
    switch (kind) {
      case "header":
        this.#store = {
          id: textIn(fields, "storeId"),
          epoch: numberIn(fields, "storeEpoch"),
          seals: booleanIn(fields, "seals"),
        };
        return;
      case "run":
        this.#begin(fields);
        return;
      case "sealChunk":
      case "sealSlice":
        this.#takeSeals(kind, fields);
        return;
      case "end":
        this.#end(fields);
        return;
      default:
        this.#takeOfRun(kind, fields);
    }
  }

  #begin(fields: Fields): void {
    if (this.#run !== undefined) {
      throw this.#bad(`Expected the end of run ${this.#run.name}, but another begins.`);
    }
    const run = objectIn(fields, "run");
    this.#run = new RunLines(numberIn(fields, "runNumber"), textIn(run, "runId"));
  }

  #takeOfRun(kind: string, fields: Fields): void {
    const run = this.#run;
    if (run === undefined || numberIn(fields, "runNumber") !== run.runNumber) {
      throw this.#bad(
        `Expected a line of ${run === undefined ? "no run" : `run ${run.name}`}, but it is of another.`,
      );
    }
    if (kind !== "content") {
      this.#closeContent(run);
    }
    switch (kind) {
      case "chunk":
        this.#takeChunk(run, fields);
        return;
      case "slice":
        this.#takeSlice(run, sliceIn(fields));
        return;
      case "content":
        this.#takeContent(run, fields);
        return;
      case "event":
        this.#takeEvent(run, objectIn(fields, "event"));
        return;
      case "operation":
        run.operations++;
        return;
      case "proposal":
        run.proposals++;
        return;
      case "runEnd":
        this.#endRun(run, fields);
        return;
      default:
        throw this.#bad(
          `Expected a kind of line that this version knows, but it is \`${kind}\`. Next: verify with the version that exported it.`,
        );
    }
  }

  #takeChunk(run: RunLines, fields: Fields): void {
    const chunk = chunkIn(fields, run.runNumber);
    if (toHex(chunk.hash) !== textIn(fields, "hash")) {
      throw this.#bad(`Expected the hash of its bytes, ${toHex(chunk.hash)}, but it says another.`);
    }
    verifyChunkLink(run.point, chunk);
    run.point = chunkPointOf(chunk);
    run.chunks++;
    this.#chunks.set(`${run.runNumber}/${chunk.chunkNumber}`, toHex(chunk.hash));
    for (const slice of chunk.slices()) run.digests.push(...digestsOf(slice));
  }

  #takeSlice(run: RunLines, slice: EventSlice): void {
    if (slice.firstEventNumber !== run.digests.length + 1) {
      throw this.#bad(
        `Expected event ${run.digests.length + 1} next, but it is ${slice.firstEventNumber}.`,
      );
    }
    run.digests.push(...digestsOf(slice));
  }

  #takeContent(run: RunLines, fields: Fields): void {
    const hash = textIn(fields, "sha256");
    if (run.content?.sha256 !== hash) {
      this.#closeContent(run);
    }
    run.content ??= { sha256: hash, parts: 0, bytes: [] };
    if (numberIn(fields, "part") !== run.content.parts) {
      throw this.#bad(`Expected part ${run.content.parts} of content ${hash}, but it is another.`);
    }
    run.content.parts++;
    run.content.bytes.push(bytesIn(fields, "data"));
  }

  #closeContent(run: RunLines): void {
    const { content } = run;
    if (content === undefined) {
      return;
    }
    if (toHex(sha256(Buffer.concat(content.bytes))) !== content.sha256) {
      throw this.#bad(
        `Expected the content before this line to have the hash ${content.sha256}, but it is another.`,
      );
    }
    run.content = undefined;
    run.contents++;
  }

  #takeEvent(run: RunLines, event: Fields): void {
    const number = numberIn(event, "number");
    const at = Date.parse(textIn(event, "at"));
    const found = digestOf({
      number,
      sequence: numberIn(event, "sequence"),
      at,
      stored: bytesIn(event, "stored"),
    });
    if (number !== run.events + 1 || run.digests[run.events] !== found) {
      throw this.#bad(
        `Expected event ${run.events + 1} as the stored history of run ${run.name} has it, but it is another.`,
      );
    }
    run.events++;
  }

  #endRun(run: RunLines, fields: Fields): void {
    for (const name of ["chunks", "events", "operations", "proposals", "contents"] as const) {
      if (numberIn(fields, name) !== run[name]) {
        throw this.#bad(
          `Expected ${numberIn(fields, name)} ${name} of run ${run.name}, but there are ${run[name]}.`,
        );
      }
    }
    if (run.events !== run.digests.length) {
      throw this.#bad(
        `Expected ${run.digests.length} events of run ${run.name}, but there are ${run.events}.`,
      );
    }
    this.#counts.runs++;
    for (const name of ["events", "operations", "proposals", "contents"] as const) {
      this.#counts[name] += run[name];
    }
    this.#run = undefined;
  }

  #takeSeals(kind: "sealChunk" | "sealSlice", fields: Fields): void {
    if (this.#store?.seals !== true) {
      throw this.#bad("Expected no seals, as the header says, but some come.");
    }
    const slices = kind === "sealChunk" ? chunkIn(fields, 0).slices() : [sliceIn(fields)];
    for (const { run, chunk, hash } of sealsOf(slices)) {
      const place = `${run}/${chunk}`;
      const known = this.#chunks.get(place);
      if (known !== undefined && known !== toHex(hash)) {
        throw this.#bad(
          `Expected chunk ${chunk} of run ${run} with the hash ${toHex(hash)} that was sealed, but it is ${known}.`,
        );
      }
      if (known !== undefined) this.#sealed.add(place);
    }
  }

  #end(fields: Fields): void {
    if (this.#run !== undefined) {
      throw this.#bad(`Expected the end of run ${this.#run.name}, but the export ends.`);
    }
    if (numberIn(fields, "runs") !== this.#counts.runs) {
      throw this.#bad(
        `Expected ${numberIn(fields, "runs")} runs, but there are ${this.#counts.runs}.`,
      );
    }
    this.#isEnded = true;
  }

  #bad(message: string, cause?: unknown): ExportDamaged {
    return new ExportDamaged(this.#line, message, { cause });
  }
}

function chunkIn(fields: Fields, runNumber: number): Chunk {
  const key = chunkKey.encode({
    partition: 0,
    runNumber,
    chunkNumber: numberIn(fields, "chunkNumber"),
  });
  return readChunk(key, bytesIn(fields, "data"));
}

function sliceIn(fields: Fields): EventSlice {
  return {
    firstSequence: numberIn(fields, "firstSequence"),
    timeBaseMs: numberIn(fields, "timeBaseMs"),
    firstEventNumber: numberIn(fields, "firstEventNumber"),
    count: numberIn(fields, "count"),
    bytes: bytesIn(fields, "data"),
  };
}

/** What readable events are compared by: place, time and the event itself. */
function* digestsOf(slice: EventSlice): Generator<string, void, undefined> {
  for (const { sequence, eventNumber: number, bytes } of eventsOf(slice)) {
    const { deltaMs, body } = readEvent(new WireReader(bytes), bytes.length);
    const stored = body.case === undefined ? bytes : encodeEvent({ deltaMs: 0, body });
    yield digestOf({ number, sequence, at: slice.timeBaseMs + deltaMs, stored });
  }
}

function digestOf(event: {
  number: number;
  sequence: number;
  at: number;
  stored: Uint8Array;
}): string {
  const places = Buffer.from(`${event.number}/${event.sequence}/${event.at}/`);
  return toHex(sha256(Buffer.concat([places, event.stored])));
}
