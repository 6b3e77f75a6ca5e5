import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { PageRequest } from "../kernel/kernel-api.js";
import { readPageSize } from "./validate/fields.js";

/**
 * What the rows of a page may take together, encoded. Far below the bound of a message: as objects they take several times as much, and many may ask
 * at once.
 */
export const pageBytesMax: number = 1_048_576;

/** Bytes of one row. */
export function rowBytes<D extends DescMessage>(schema: D, row: MessageInitShape<D>): number {
  return toBinary(schema, create(schema, row)).length;
}

/**
 * The page that a request asks for, bounded in rows and in bytes. Rows are bounded but not small: what would make it too long is on the next page.
 *
 * @throws RpcError PAWL_INVALID_FIELD for a size above the bound.
 */
export function readPage<D extends DescMessage>(
  schema: D,
  { pageSize, pageToken }: { readonly pageSize: number; readonly pageToken: string },
): PageRequest<MessageInitShape<D>> {
  return {
    size: readPageSize(pageSize),
    token: pageToken,
    bytesMax: pageBytesMax,
    bytesOf: (row) => rowBytes(schema, row),
  };
}
