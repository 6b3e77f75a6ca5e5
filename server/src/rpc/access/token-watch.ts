import { readTokenFile, stampOf, TokenFileError } from "../../access/token-file.js";
import type { Cancellable, Timers } from "../../kernel/ports.js";
import type { Credentials } from "./credentials.js";

/** The token file of a kernel. */
export interface TokenSource {
  readonly path: string;
  /** True when it was named: then it must be there. Else the kernel asks for no credentials until it is. */
  readonly isRequired: boolean;
}

/** What the watch works with. */
export interface TokenWatchParts extends TokenSource {
  readonly credentials: Credentials;
  readonly timers: Timers;
  /** Told why a new content was not taken; what was in force stays. */
  readonly onProblem: (error: unknown) => void;
}

/**
 * The file is looked at this often, in ms, and what has expired ends then. So a revoked token's calls end within two of them, on every
 * file system and however the file was replaced.
 */
export const tokenPollMs = 1_000;

/** Keeps the credentials in force as a token file has them. A file that is damaged, or gone, changes nothing. */
export class TokenWatch {
  readonly #parts: TokenWatchParts;
  #stamp: string | undefined;
  #timer: Cancellable | undefined;
  #isClosed = false;
  /** What was told last; empty when all is well. */
  #problem = "";

  private constructor(parts: TokenWatchParts) {
    this.#parts = parts;
  }

  /**
   * Reads the file and goes on watching it.
   *
   * @throws TokenFileError when it is damaged, or required and absent.
   */
  static async start(parts: TokenWatchParts): Promise<TokenWatch> {
    const watch = new TokenWatch(parts);
    const isRead = await watch.#read(await stampOf(parts.path));
    if (!isRead && parts.isRequired) {
      const message = `Expected a token file at ${parts.path}, but there is none. Make it with pawl token create --tokens ${parts.path}.`;
      throw new TokenFileError("PAWL_TOKEN_FILE_ABSENT", parts.path, message);
    }
    watch.#arm();
    return watch;
  }

  /** Ends it. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#parts.timers.after(tokenPollMs, () => {
      void this.#look().then(() => {
        if (!this.#isClosed) {
          this.#arm();
        }
      });
    });
  }

  async #look(): Promise<void> {
    const { credentials, onProblem, path } = this.#parts;
    credentials.expireAll();
    const before = this.#stamp;
    try {
      const stamp = await stampOf(path);
      if (stamp === before || this.#isClosed) {
        return;
      }
      this.#stamp = stamp;
      if (!(await this.#read(stamp)) && credentials.isRequired) {
        const message = `Expected the token file ${path} to stay, but it is gone. What it said last stays in force.`;
        onProblem(new TokenFileError("PAWL_TOKEN_FILE_ABSENT", path, message));
      }
      this.#problem = "";
    } catch (error) {
      if (!(error instanceof TokenFileError)) {
        this.#stamp = before; // The disk did not give it: it is read again, however little changes meanwhile.
      }
      this.#tell(error, onProblem);
    }
  }

  /** What goes on is told once. */
  #tell(error: unknown, onProblem: TokenWatchParts["onProblem"]): void {
    const problem = String(error);
    if (problem !== this.#problem) {
      this.#problem = problem;
      onProblem(error);
    }
  }

  /** False when there is no file. */
  async #read(stamp: string | undefined): Promise<boolean> {
    this.#stamp = stamp;
    const entries = await readTokenFile(this.#parts.path);
    if (entries !== undefined) {
      this.#parts.credentials.use(entries);
    }
    return entries !== undefined;
  }
}
