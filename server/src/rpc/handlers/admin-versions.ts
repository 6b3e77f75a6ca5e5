import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  CurrentVersionSchema,
  GetCurrentVersionRequest,
  GetCurrentVersionResponseSchema,
  ListCurrentVersionsRequest,
  ListCurrentVersionsResponseSchema,
  RemoveCurrentVersionRequest,
  RemoveCurrentVersionResponseSchema,
  SetCurrentVersionRequest,
  SetCurrentVersionResponseSchema,
} from "@pawl/proto/v1/admin_service_pb.js";
import { codeVersionMax } from "../../core/plan/code-version.js";
import type { CurrentVersionEntry } from "../../kernel/current-versions.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { badField } from "../refusals.js";
import { readNamespace, readPageSize, requireId } from "../validate/fields.js";
import { requireVersioned } from "../validate/version-choice.js";

type CurrentVersion = MessageInitShape<typeof CurrentVersionSchema>;

/** Sets the current version of a workflow. */
export async function setCurrentVersion(
  edge: Edge,
  request: SetCurrentVersionRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof SetCurrentVersionResponseSchema>> {
  const { codeVersion } = request;
  requireWorkflow(request.workflow);
  if (codeVersion < 1 || codeVersion > codeVersionMax) {
    throw badField("code_version", `1 to ${codeVersionMax}`, `${codeVersion}`);
  }
  return await change(edge, request, { codeVersion, call });
}

/** Removes the current version of a workflow. */
export async function removeCurrentVersion(
  edge: Edge,
  request: RemoveCurrentVersionRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RemoveCurrentVersionResponseSchema>> {
  requireWorkflow(request.workflow);
  return await change(edge, request, { codeVersion: 0, call });
}

async function change(
  edge: Edge,
  request: SetCurrentVersionRequest | RemoveCurrentVersionRequest,
  { codeVersion, call }: { readonly codeVersion: number; readonly call: CallContext },
): Promise<{ current: CurrentVersion; existing: boolean; position: Uint8Array }> {
  const { workflow, expectedVersion } = request;
  const namespace = readNamespace(request.namespace);
  const { entry, existing, position } = await edge.kernel.changeCurrentVersion(
    { namespace, workflow, codeVersion, expectedVersion },
    call.caller,
  );
  return { current: versionView(edge, entry), existing, position };
}

/** Tells the current version of a workflow. */
export async function getCurrentVersion(
  edge: Edge,
  { namespace, workflow }: GetCurrentVersionRequest,
): Promise<MessageInitShape<typeof GetCurrentVersionResponseSchema>> {
  requireWorkflow(workflow);
  const entry = await edge.kernel.getCurrentVersion(readNamespace(namespace), workflow);
  return { current: versionView(edge, entry) };
}

/** Lists the current versions of a namespace. */
export async function listCurrentVersions(
  edge: Edge,
  request: ListCurrentVersionsRequest,
): Promise<MessageInitShape<typeof ListCurrentVersionsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const size = readPageSize(request.pageSize);
  const filter = ["current versions", namespace];
  const from = readPageToken(filter, request.pageToken);
  const versions: CurrentVersion[] = [];
  // None ever leaves the list and new ones come last, so that a place in it stays what it was.
  let place = from;
  for (const entry of await edge.kernel.listCurrentVersions(from)) {
    if (entry.namespace === namespace && entry.codeVersion > 0) {
      if (versions.length === size) {
        return { versions, nextPageToken: writePageToken(filter, place) };
      }
      versions.push(versionView(edge, entry));
    }
    place++;
  }
  return { versions, nextPageToken: "" };
}

function requireWorkflow(workflow: string): void {
  requireId("workflow", workflow, "workflow");
  requireVersioned(workflow);
}

function versionView(edge: Edge, entry: CurrentVersionEntry): CurrentVersion {
  const { workflow, codeVersion, version, changedAtMs, principal } = entry;
  return {
    ...{ workflow, codeVersion, version, changedBy: principal },
    ...(changedAtMs === 0 ? {} : { changedAt: timestampFromMs(changedAtMs) }),
    sessions: codeVersion === 0 ? 0 : edge.kernel.sessionsOfVersion(entry),
  };
}
