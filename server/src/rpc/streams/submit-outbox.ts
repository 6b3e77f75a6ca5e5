import {
  type AwaitedResultShape,
  type StartRunResultShape,
  writeAwaitedResult,
  writeStartRunResult,
} from "@pawl/proto/v1/run_service_wire.js";
import { sealAccepted } from "./seal-accepted.js";
import type { SealedMessages } from "./sealed-messages.js";

/** Tags of SubmitResponse: field number and wire type. */
const tags = { accepted: 10, started: 18, results: 26 } as const;

/** Tag of SubmitResponse.position, its last field. */
export const submitPositionTag = 34;

/** What waits to be sent on a Submit stream. Reused: `seal` empties it. */
export class SubmitOutbox {
  readonly accepted: number[] = [];
  readonly started: StartRunResultShape[] = [];
  readonly results: AwaitedResultShape[] = [];

  get isEmpty(): boolean {
    return this.accepted.length + this.started.length + this.results.length === 0;
  }

  /** Encodes everything. */
  seal(sealed: SealedMessages): void {
    const { writer } = sealed;
    sealAccepted(writer, tags.accepted, this.accepted);
    for (const answer of this.started) {
      writer.tag(tags.started);
      const at = writer.begin();
      writeStartRunResult(writer, answer);
      writer.end(at);
      sealed.cut();
    }
    this.started.length = 0;
    for (const result of this.results) {
      writer.tag(tags.results);
      const at = writer.begin();
      writeAwaitedResult(writer, result);
      writer.end(at);
      sealed.cut();
    }
    this.results.length = 0;
  }
}
