/** Why a data folder was not opened. Nothing was changed in any of these cases. */

import { StoreError } from "./store-errors.js";

/** There is no store, and the caller did not ask for one to be made. */
export class StoreAbsent extends StoreError {
  override readonly name = "StoreAbsent";
  readonly directory: string;

  constructor(directory: string, found: string) {
    super(
      "PAWL_STORE_ABSENT",
      `Expected a store in ${directory}, but ${found}. ` +
        "Check the path, or make a new store there with `pawl serve` or `openKernel({ dir })`.",
    );
    this.directory = directory;
  }
}

/** Another handle, in this or another process, has the store open. */
export class StoreLocked extends StoreError {
  override readonly name = "StoreLocked";
  readonly directory: string;
  /** The process that says it has the store, if it is alive. */
  readonly pid: number | undefined;
  /** The port it listens on, if it said so. */
  readonly port: number | undefined;

  constructor(
    directory: string,
    holder: { readonly pid: number; readonly port?: number } | undefined,
    options?: ErrorOptions,
  ) {
    super(
      "PAWL_STORE_LOCKED",
      `Expected the store in ${directory} to be free, but ${describeHolder(holder)} has it open. ` +
        "Use that kernel, or stop it first.",
      options,
    );
    this.directory = directory;
    this.pid = holder?.pid;
    this.port = holder?.port;
  }
}

/** The store has a format that this kernel does not know. */
export class StoreNewer extends StoreError {
  override readonly name = "StoreNewer";
  readonly format: number;

  constructor(directory: string, format: number, known: number) {
    super(
      "PAWL_STORE_NEWER",
      `Expected a store of format ${known} in ${directory}, but its format is ${format}. ` +
        "Open it with the newer version of Pawl that wrote it.",
    );
    this.format = format;
  }
}

/** The folder holds something that is not a store of ours; Pawl keeps out. */
export class StoreForeign extends StoreError {
  override readonly name = "StoreForeign";
  readonly directory: string;

  constructor(directory: string, found: string, options?: ErrorOptions) {
    super(
      "PAWL_STORE_FOREIGN",
      `Expected a store or an empty folder at ${directory}, but ${found}. Choose another folder.`,
      options,
    );
    this.directory = directory;
  }
}

function describeHolder(
  holder: { readonly pid: number; readonly port?: number } | undefined,
): string {
  if (holder === undefined) return "another process";
  const port = holder.port === undefined ? "" : ` (port ${holder.port})`;
  return holder.pid === process.pid ? `this process${port}` : `process ${holder.pid}${port}`;
}
