import {
  createRegistry,
  type DescFile,
  type DescService,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { ServerReflection } from "@pawl/proto/grpc/reflection/v1/reflection_pb.js";
import type { ServerReflection as ServerReflectionAlpha } from "@pawl/proto/grpc/reflection/v1alpha/reflection_pb.js";
import type { ServiceHandlers } from "../handlers/handler.js";
import { statusCodes } from "../rejection-status.js";

/** A reflection request, whatever the version: the two are the same on the wire and in their fields. */
interface ReflectionRequest {
  readonly host: string;
  readonly messageRequest:
    | { readonly case: "fileByFilename" | "fileContainingSymbol"; readonly value: string }
    | { readonly case: "allExtensionNumbersOfType" | "listServices"; readonly value: string }
    | {
        readonly case: "fileContainingExtension";
        readonly value: { readonly containingType: string };
      }
    | { readonly case: undefined; readonly value?: undefined };
}

type MessageResponse =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

interface ReflectionResponse {
  readonly validHost: string;
  readonly messageResponse: MessageResponse;
}

/** Answers what is served and of what it is made, from the descriptors that the messages themselves are coded by. */
export class Reflection {
  readonly #services: readonly DescService[];
  readonly #files: ReadonlyMap<string, DescFile>;
  readonly #registry: Registry;

  constructor(services: readonly DescService[]) {
    this.#services = services;
    const files = new Map<string, DescFile>();
    for (const { file } of services) {
      collect(file, files);
    }
    this.#files = files;
    this.#registry = createRegistry(...files.values());
  }

  /** Handlers of `grpc.reflection.v1.ServerReflection`. */
  get handlers(): ServiceHandlers<typeof ServerReflection> {
    return { serverReflectionInfo: (requests) => this.#answerAll(requests) };
  }

  /** Handlers of `grpc.reflection.v1alpha.ServerReflection`, which older tools ask. */
  get alphaHandlers(): ServiceHandlers<typeof ServerReflectionAlpha> {
    return { serverReflectionInfo: (requests) => this.#answerAll(requests) };
  }

  async *#answerAll(requests: AsyncIterable<ReflectionRequest>): AsyncIterable<ReflectionResponse> {
    for await (const request of requests) {
      yield { validHost: request.host, messageResponse: this.#answer(request) };
    }
  }

  #answer({ messageRequest }: ReflectionRequest): MessageResponse {
    switch (messageRequest.case) {
      case "listServices":
        return {
          case: "listServicesResponse",
          value: { service: this.#services.map(({ typeName }) => ({ name: typeName })) },
        };
      case "fileByFilename":
        return this.#fileAnswer(this.#files.get(messageRequest.value), messageRequest.value);
      case "fileContainingSymbol":
        return this.#fileAnswer(this.#fileOf(messageRequest.value), messageRequest.value);
      case "fileContainingExtension":
        return notFound(`an extension of ${messageRequest.value.containingType}`);
      case "allExtensionNumbersOfType":
        return this.#registry.getMessage(messageRequest.value) === undefined
          ? notFound(messageRequest.value)
          : {
              case: "allExtensionNumbersResponse",
              value: { baseTypeName: messageRequest.value },
            };
      default:
        return {
          case: "errorResponse",
          value: {
            errorCode: statusCodes.INVALID_ARGUMENT,
            errorMessage: "Expected one of the questions of this protocol, but there is none.",
          },
        };
    }
  }

  /** The file of a type or service, or of one of its members: then its last part is the member's name. */
  #fileOf(symbol: string): DescFile | undefined {
    const name = symbol.replace(/^\./, "");
    const found = this.#registry.get(name);
    if (found !== undefined) {
      return found.file;
    }
    const end = name.lastIndexOf(".");
    return end < 0 ? undefined : this.#registry.get(name.slice(0, end))?.file;
  }

  #fileAnswer(file: DescFile | undefined, asked: string): MessageResponse {
    if (file === undefined) {
      return notFound(asked);
    }
    const closure = new Map<string, DescFile>();
    collect(file, closure);
    const fileDescriptorProto = [...closure.values()].map(({ proto }) =>
      toBinary(FileDescriptorProtoSchema, proto),
    );
    return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
  }
}

/** Collects a file and all that it imports, itself first. */
function collect(file: DescFile, files: Map<string, DescFile>): void {
  const name = `${file.name}.proto`;
  if (!files.has(name)) {
    files.set(name, file);
    for (const dependency of file.dependencies) {
      collect(dependency, files);
    }
  }
}

function notFound(what: string): MessageResponse {
  const errorMessage = `Expected ${what} to be served here, but it is not.`;
  return { case: "errorResponse", value: { errorCode: statusCodes.NOT_FOUND, errorMessage } };
}
