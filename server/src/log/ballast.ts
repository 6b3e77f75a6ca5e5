/**
 * Space that is kept for bad times: a file of random bytes (zeros would take no room on a file system that compresses), which is given back
 * when the disk is nearly full, so that work under way can still end, and a store that ran full can be opened.
 */

import { randomFillSync } from "node:crypto";
import { existsSync, rmSync, statSync } from "node:fs";
import { open, rename, statfs } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER } from "./data-folder.js";
import { codesOf } from "./store-errors.js";
import { syncDirectory } from "./synced-files.js";
import { WATERMARKS_DEFAULT } from "./watermark.js";

/** Bytes of the ballast when nobody says otherwise: one write buffer of LevelDB. */
export const BALLAST_BYTES: number = 64 * 1024 * 1024;

/** Written at once; a commit that syncs meanwhile waits for no more than this. */
const PIECE_BYTES = 1024 * 1024;

/** The ballast of one data folder. */
export interface Ballast {
  readonly bytes: number;
  /** True while all of it is there. */
  readonly isWhole: boolean;
  /**
   * Makes it, piece by piece, with a pause after each; nothing when it is whole. A disk without room for it, or `release`, ends that early. Resolves
   * when it is over. Errors: the disk's own, but for "no space".
   */
  build(pause: () => Promise<void>): Promise<void>;
  /** Gives the space back at once. */
  release(): void;
}

/** The ballast in a data folder that this process has open. */
export class FileBallast implements Ballast {
  readonly bytes: number;
  readonly #directory: string;
  readonly #path: string;
  readonly #partPath: string;
  #isWhole: boolean;
  #isBuilding = false;

  constructor(directory: string, bytes: number = BALLAST_BYTES) {
    this.bytes = bytes;
    this.#directory = directory;
    this.#path = join(directory, FOLDER.ballast);
    this.#partPath = `${this.#path}.part`;
    rmSync(this.#partPath, { force: true });
    this.#isWhole = existsSync(this.#path) && statSync(this.#path).size === bytes;
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  async build(pause: () => Promise<void>): Promise<void> {
    if (this.#isWhole || this.#isBuilding) return;
    this.#isBuilding = true;
    try {
      await this.#write(pause);
      if (!this.#isBuilding) return;
      await rename(this.#partPath, this.#path);
      await syncDirectory(this.#directory);
      this.#isWhole = true;
    } catch (error) {
      if (!codesOf(error).includes("ENOSPC")) throw error;
    } finally {
      this.#isBuilding = false;
      rmSync(this.#partPath, { force: true });
    }
  }

  release(): void {
    this.#isBuilding = false;
    this.#isWhole = false;
    removeBallast(this.#directory);
  }

  async #write(pause: () => Promise<void>): Promise<void> {
    const piece = new Uint8Array(Math.min(PIECE_BYTES, this.bytes));
    const file = await open(this.#partPath, "w", 0o600);
    try {
      for (let left = this.bytes; left > 0 && this.#isBuilding; left -= piece.length) {
        randomFillSync(piece);
        await file.writeFile(piece.subarray(0, left));
        await file.datasync();
        await pause();
      }
    } finally {
      await file.close();
    }
  }
}

/** Gives the space back when there is too little for a store to be opened, before LevelDB writes its first byte. */
export async function releaseWhenFull(directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize < WATERMARKS_DEFAULT.completionsBytesMin) removeBallast(directory);
}

/** Gives the space back, whatever there is of it. Synchronous, for the moment in which a write has failed. */
export function removeBallast(directory: string): void {
  rmSync(join(directory, FOLDER.ballast), { force: true });
  rmSync(join(directory, `${FOLDER.ballast}.part`), { force: true });
}
