import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions, type TlsOptions } from "node:tls";
import type { Cancellable, Timers } from "../kernel/ports.js";

/** Where the material of TLS lies. */
export interface TlsSource {
  /** Certificate chain, PEM. */
  readonly certPath: string;
  /** Its private key, PEM. */
  readonly keyPath: string;
  /** Authority of client certificates, PEM. Absent: none are asked for. */
  readonly clientCaPath?: string | undefined;
}

/** Why TLS cannot be served with these files. */
export class TlsFilesError extends Error {
  override readonly name: string = "TlsFilesError";
  readonly code = "PAWL_TLS_INVALID";

  constructor(source: TlsSource, { cause }: { readonly cause: unknown }) {
    const { certPath, keyPath, clientCaPath } = source;
    const authority =
      clientCaPath === undefined ? "" : `, and a certificate authority in ${clientCaPath}`;
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `Expected a certificate in ${certPath} with its private key in ${keyPath}${authority}, in PEM, but: ${why}.`,
      { cause },
    );
  }
}

/** How often the files are looked at, in ms: a renewed certificate is served within two of them. */
const lookMs = 1_000;

type Options = Pick<SecureContextOptions, "cert" | "key" | "ca" | "minVersion">;

/** The files of TLS, read again when they change. New connections get what was read last; a file that is damaged changes nothing. */
export class TlsFiles {
  readonly #source: TlsSource;
  readonly #timers: Timers;
  readonly #onProblem: (error: unknown) => void;
  readonly #listeners: ((options: Options, certificate: X509Certificate) => void)[] = [];
  #options: Options = {};
  #stamp = "";
  /** What was told last; empty when all is well. */
  #problem = "";
  #timer: Cancellable | undefined;
  #isClosed = false;

  private constructor(source: TlsSource, timers: Timers, onProblem: (error: unknown) => void) {
    this.#source = source;
    this.#timers = timers;
    this.#onProblem = onProblem;
  }

  /**
   * Reads them and goes on watching them.
   *
   * @throws TlsFilesError when one is missing, no PEM, or the key is of another certificate.
   */
  static async open(
    source: TlsSource,
    timers: Timers,
    onProblem: (error: unknown) => void,
  ): Promise<TlsFiles> {
    const files = new TlsFiles(source, timers, onProblem);
    await files.#read();
    files.#arm();
    return files;
  }

  /** For `tls.createServer`. A client certificate is asked for when there is an authority for them; who has none may show a token. */
  get options(): TlsOptions {
    const requestCert = this.#source.clientCaPath !== undefined;
    return { ...this.#options, requestCert, rejectUnauthorized: false };
  }

  /** The certificate that is served now. */
  get certificate(): X509Certificate {
    return new X509Certificate(this.#options.cert?.toString() ?? "");
  }

  /** Told of each change. */
  onChange(listener: (options: Options, certificate: X509Certificate) => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#timers.after(lookMs, () => {
      void this.#look().then(() => {
        if (!this.#isClosed) {
          this.#arm();
        }
      });
    });
  }

  async #look(): Promise<void> {
    try {
      const stamp = await this.#stampNow();
      if (stamp !== this.#stamp) {
        await this.#read(stamp);
        for (const listener of this.#listeners) {
          listener(this.#options, this.certificate);
        }
        this.#problem = "";
      }
    } catch (error) {
      this.#tell(error);
    }
  }

  /** What goes on is told once. */
  #tell(error: unknown): void {
    const problem = String(error);
    if (problem !== this.#problem) {
      this.#problem = problem;
      this.#onProblem(error);
    }
  }

  async #read(known?: string): Promise<void> {
    const { certPath, keyPath, clientCaPath } = this.#source;
    try {
      // From before the reading: what changes meanwhile is seen at the next look.
      const stamp = known ?? (await this.#stampNow());
      const [cert, key, ca] = await Promise.all([
        readFile(certPath),
        readFile(keyPath),
        clientCaPath === undefined ? undefined : readFile(clientCaPath),
      ]);
      // Only what the disk gave counts as looked at: else it is read again, however little changes.
      this.#stamp = stamp;
      const options: Options = {
        ...{ cert, key, minVersion: "TLSv1.2" },
        ...(ca === undefined ? {} : { ca }),
      };
      createSecureContext(options);
      this.#options = options;
    } catch (error) {
      throw new TlsFilesError(this.#source, { cause: error });
    }
  }

  async #stampNow(): Promise<string> {
    const { certPath, keyPath, clientCaPath } = this.#source;
    const paths = [certPath, keyPath, ...(clientCaPath === undefined ? [] : [clientCaPath])];
    const stamps = await Promise.all(
      paths.map(async (path) => {
        const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
        return `${ino}/${size}/${mtimeNs}/${ctimeNs}`;
      }),
    );
    return stamps.join(" ");
  }
}
