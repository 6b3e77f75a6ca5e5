import type { InputRequest } from "@pawl/proto/v1/input_pb.js";
import type { ProvideInputRequest } from "@pawl/proto/v1/run_service_pb.js";
import { DefinitionInvalid, PawlError } from "../errors.js";
import type { InputFilter, Inputs } from "../inputs.js";
import type { SignalAnswer } from "../messages.js";
import type { ClientCore } from "./client-core.js";
import { encodeValue } from "./codec.js";
import { loadPayload } from "./load-payload.js";
import { callUnary } from "./unary.js";

/** `client.inputs`. */
export class InputsClient implements Inputs {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  async *list({ runId = "", addressee = "" }: InputFilter = {}): AsyncGenerator<InputRequest> {
    const { api, namespace } = this.#core;
    let pageToken = "";
    do {
      const request = { namespace, runId, addressee, pageToken };
      const page = await callUnary(
        (call) => api.runs.listInputs(request, call),
        this.#core.unary(),
      );
      yield* page.inputs;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async get(inputId: string): Promise<InputRequest> {
    const { api, namespace } = this.#core;
    const { input } = await callUnary(
      (call) => api.runs.getInput({ namespace, inputId }, call),
      this.#core.unary(),
    );
    if (input === undefined) {
      throw new PawlError(
        "PAWL_UNKNOWN_ANSWER",
        "Expected an input request, but the answer has none. Update @pawl/sdk.",
      );
    }
    const unary = this.#core.unary();
    const answer = await loadPayload(input.answer, { api, namespace, runId: input.runId, unary });
    if (answer !== undefined) input.answer = answer;
    return input;
  }

  provide(inputId: string, answer: unknown, expectedVersion: number): Promise<SignalAnswer> {
    const given = encodeValue(answer, "the answer");
    if (given === undefined) {
      throw new DefinitionInvalid(
        "Expected an answer, but it is undefined. Give null when there is nothing to say, or decline.",
      );
    }
    return this.#provide(inputId, expectedVersion, { case: "given", value: given });
  }

  decline(inputId: string, reason: string, expectedVersion: number): Promise<SignalAnswer> {
    return this.#provide(inputId, expectedVersion, { case: "declined", value: reason });
  }

  #provide(
    inputId: string,
    expectedVersion: number,
    answer: ProvideInputRequest["answer"],
  ): Promise<SignalAnswer> {
    const { api, namespace } = this.#core;
    const request = { namespace, inputId, expectedVersion, answer };
    return callUnary((call) => api.runs.provideInput(request, call), this.#core.unary());
  }
}
