import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  CreateNamespaceRequest,
  CreateNamespaceResponseSchema,
  ListNamespacesRequest,
  ListNamespacesResponseSchema,
  NamespaceSchema,
} from "@pawl/proto/v1/admin_service_pb.js";
import { everyNamespace } from "../../access/roles.js";
import type { NamespaceEntry } from "../../kernel/namespaces.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { badField } from "../refusals.js";
import { readPageSize, requireId } from "../validate/fields.js";

/** Creates a namespace. */
export async function createNamespace(
  edge: Edge,
  { name }: CreateNamespaceRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof CreateNamespaceResponseSchema>> {
  requireId("namespace", name, "name");
  if (name === everyNamespace) {
    throw badField("name", "a name other than *, which means every namespace", "*");
  }
  const { entry, existing, position } = await edge.kernel.createNamespace(name, call.caller);
  return { namespace: namespaceView(entry), existing, position };
}

/** Lists the namespaces that the caller may know of. */
export async function listNamespaces(
  edge: Edge,
  { pageSize, pageToken }: ListNamespacesRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ListNamespacesResponseSchema>> {
  const size = readPageSize(pageSize);
  const filter = ["namespaces"];
  const from = readPageToken(filter, pageToken);
  const namespaces: MessageInitShape<typeof NamespaceSchema>[] = [];
  // None is ever removed and new ones come last, so that a place in the list stays what it was.
  let place = from;
  for (const entry of await edge.kernel.listNamespaces(from)) {
    if (edge.gate.isVisible(call.credential, entry.namespace)) {
      if (namespaces.length === size) {
        return { namespaces, nextPageToken: writePageToken(filter, place) };
      }
      namespaces.push(namespaceView(entry));
    }
    place++;
  }
  return { namespaces, nextPageToken: "" };
}

function namespaceView(entry: NamespaceEntry): MessageInitShape<typeof NamespaceSchema> {
  return {
    name: entry.namespace,
    createdAt: timestampFromMs(entry.createdAtMs),
    createdBy: entry.principal,
  };
}
