import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { limits } from "../core/limits.js";
import type { Page } from "../kernel/kernel-api.js";

/** What the rows of a page may take together, encoded: well below the bound of a message. */
export const pageBytesMax: number = limits.messageBytesMax - 524_288;

/** Bytes of one row. */
export function rowBytes<D extends DescMessage>(schema: D, row: MessageInitShape<D>): number {
  return toBinary(schema, create(schema, row)).length;
}

/**
 * A page that fits in one message. Rows are bounded but not small: a page of 1,000 may be too long, and then fewer are asked for.
 */
export async function fitPage<D extends DescMessage>(
  schema: D,
  size: number,
  fetch: (size: number) => Promise<Page<MessageInitShape<D>>>,
): Promise<Page<MessageInitShape<D>>> {
  for (let rows = size; ; rows = Math.max(1, Math.floor(rows / 2))) {
    const page = await fetch(rows);
    let bytes = 0;
    for (const row of page.items) {
      bytes += rowBytes(schema, row);
    }
    if (bytes <= pageBytesMax || rows === 1) {
      return page;
    }
  }
}
