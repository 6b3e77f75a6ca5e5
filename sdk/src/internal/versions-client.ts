import type { CurrentVersion } from "@pawl/proto/v1/admin_service_pb.js";
import type {
  CurrentVersionInfo,
  NamedWorkflow,
  VersionChangeOptions,
  Versions,
} from "../versions.js";
import type { ClientCore } from "./client-core.js";
import { callUnary } from "./unary.js";

/** `client.versions`. */
export class VersionsClient implements Versions {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  async set(
    named: NamedWorkflow,
    version: number,
    { expectedVersion }: VersionChangeOptions = {},
  ): Promise<CurrentVersionInfo> {
    const { api, namespace } = this.#core;
    const request = {
      ...{ namespace, workflow: nameOf(named), codeVersion: version },
      ...(expectedVersion === undefined ? {} : { expectedVersion }),
    };
    const { current } = await callUnary(
      (call) => api.admin.setCurrentVersion(request, call),
      this.#core.unary(),
    );
    return infoOf(current, named);
  }

  async remove(
    named: NamedWorkflow,
    { expectedVersion }: VersionChangeOptions = {},
  ): Promise<CurrentVersionInfo> {
    const { api, namespace } = this.#core;
    const request = {
      ...{ namespace, workflow: nameOf(named) },
      ...(expectedVersion === undefined ? {} : { expectedVersion }),
    };
    const { current } = await callUnary(
      (call) => api.admin.removeCurrentVersion(request, call),
      this.#core.unary(),
    );
    return infoOf(current, named);
  }

  async get(named: NamedWorkflow): Promise<CurrentVersionInfo> {
    const { api, namespace } = this.#core;
    const request = { namespace, workflow: nameOf(named) };
    const { current } = await callUnary(
      (call) => api.admin.getCurrentVersion(request, call),
      this.#core.unary(),
    );
    return infoOf(current, named);
  }

  async *list(): AsyncGenerator<CurrentVersionInfo> {
    const { api, namespace } = this.#core;
    let pageToken = "";
    do {
      const request = { namespace, pageToken };
      const page = await callUnary(
        (call) => api.admin.listCurrentVersions(request, call),
        this.#core.unary(),
      );
      for (const current of page.versions) yield infoOf(current, current.workflow);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }
}

function nameOf(named: NamedWorkflow): string {
  return typeof named === "string" ? named : named.name;
}

function infoOf(current: CurrentVersion | undefined, named: NamedWorkflow): CurrentVersionInfo {
  const { codeVersion = 0, version = 0, changedBy = "", sessions = 0 } = current ?? {};
  return { workflow: nameOf(named), current: codeVersion, version, changedBy, workers: sessions };
}
