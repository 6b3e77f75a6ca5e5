import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { TicketError } from "./ticket-error.js";

/** The part of a file handle that the journal needs; a test injects one that fails. */
export interface JournalFile {
  appendFile(data: string): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

/** What {@link openJournal} found. */
export interface OpenedJournal {
  readonly journal: Journal;
  /** The complete lines of the file, without their line ends. */
  readonly lines: readonly string[];
  /** Bytes of an unfinished last line that were cut off: its call was never answered. */
  readonly tornBytes: number;
}

interface WaitingLine {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * An append-only file of lines. `append` resolves when the line is on disk (fdatasync); lines that
 * come while one sync is under way share the next (group commit). After the first failed write
 * nothing is appended any more: what the file then holds is only known by reading it again.
 */
export class Journal {
  readonly #file: JournalFile;
  #waiting: WaitingLine[] = [];
  #flushing: Promise<void> | undefined;
  #failure: TicketError | undefined;

  constructor(file: JournalFile) {
    this.#file = file;
  }

  /** Appends one line. Rejects with `TICKET_BOOKS_FAILED` when it may not be on disk. */
  append(line: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise<void>((resolve, reject) => {
      this.#waiting.push({ line, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** Waits for the lines under way, then closes the file. */
  async close(): Promise<void> {
    await this.#flushing;
    this.#failure ??= booksFailed("the books are closed");
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#writeBatch(batch);
    }
    for (const { reject } of this.#waiting) reject(this.#failure ?? booksFailed("unknown"));
    this.#waiting = [];
    this.#flushing = undefined;
  }

  async #writeBatch(batch: readonly WaitingLine[]): Promise<void> {
    try {
      await this.#file.appendFile(batch.map(({ line }) => `${line}\n`).join(""));
      await this.#file.datasync();
    } catch (error) {
      const failure = booksFailed(String(error), error);
      this.#failure = failure;
      for (const { reject } of batch) reject(failure);
      return;
    }
    for (const { resolve } of batch) resolve();
  }
}

/**
 * Opens or creates the journal at `path`. An unfinished last line (the process died while writing it,
 * before any answer) is cut off. Throws `TICKET_BOOKS_DAMAGED` when the text is not UTF-8.
 */
export async function openJournal(path: string): Promise<OpenedJournal> {
  const file = await open(path, "a+", 0o600);
  try {
    const bytes = await file.readFile();
    const endOfLines = bytes.lastIndexOf(0x0a) + 1;
    const lines = decodeLines(path, bytes.subarray(0, endOfLines));
    const tornBytes = bytes.length - endOfLines;
    if (tornBytes > 0) {
      await file.truncate(endOfLines);
    }
    // A line that a killed process had written but not synced is read above and acted upon from now
    // on, so it must be as durable as the others; so must the file's own name in its folder.
    await file.datasync();
    await syncFolder(dirname(path));
    return { journal: new Journal(file), lines, tornBytes };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function decodeLines(path: string, bytes: Uint8Array): readonly string[] {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.split("\n").slice(0, -1);
  } catch (cause) {
    throw new TicketError(
      `expected ${path} to be UTF-8 text, but it is not; restore it or start with another --dir`,
      { code: "TICKET_BOOKS_DAMAGED", status: 500, cause },
    );
  }
}

async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined;
  try {
    folder = await open(path, "r");
    await folder.sync();
  } finally {
    await folder?.close();
  }
}

function booksFailed(reason: string, cause?: unknown): TicketError {
  return new TicketError(
    `expected to write the books, but: ${reason}; start the service again, it reads what is there`,
    { code: "TICKET_BOOKS_FAILED", status: 500, cause },
  );
}
