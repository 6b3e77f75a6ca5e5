import {
  type AwaitedResultShape,
  type StartRunResultShape,
  type SubmitSignalResultShape,
  writeAwaitedResult,
  writeStartRunResult,
  writeSubmitSignalResult,
} from "@pawl/proto/v1/run_service_wire.js";
import { sealAccepted } from "./seal-accepted.js";
import type { SealedMessages } from "./sealed-messages.js";

/** Tags of SubmitResponse: field number and wire type. */
const tags = { accepted: 10, started: 18, results: 26, signals: 42 } as const;

/** Tag of SubmitResponse.position, which is written last. */
export const submitPositionTag = 34;

/** What waits to be sent on a Submit stream. Reused: `seal` empties it. */
export class SubmitOutbox {
  readonly accepted: number[] = [];
  readonly started: StartRunResultShape[] = [];
  readonly results: AwaitedResultShape[] = [];
  readonly signals: SubmitSignalResultShape[] = [];

  get isEmpty(): boolean {
    const { accepted, started, results, signals } = this;
    return accepted.length + started.length + results.length + signals.length === 0;
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
    // Before the results: a run may have ended by what it was told.
    for (const answer of this.signals) {
      writer.tag(tags.signals);
      const at = writer.begin();
      writeSubmitSignalResult(writer, answer);
      writer.end(at);
      sealed.cut();
    }
    this.signals.length = 0;
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
