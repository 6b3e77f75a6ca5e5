import type { KernelApi } from "../kernel/kernel-api.js";
import type { Timers } from "../kernel/ports.js";
import { Credentials } from "./access/credentials.js";
import { type TokenSource, TokenWatch } from "./access/token-watch.js";
import { Hosts, isLoopback } from "./hosts.js";
import { ListenError } from "./port.js";
import { TlsFiles, type TlsSource } from "./tls-files.js";

/** What decides who gets in. */
export interface DoorOptions {
  readonly kernel: KernelApi;
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  readonly tokens: TokenSource | undefined;
  readonly tls: TlsSource | undefined;
  readonly allowedHosts: readonly string[];
}

/** Credentials, TLS and names of a server; all of them may change while it runs. */
export interface Door {
  readonly credentials: Credentials;
  readonly hosts: Hosts;
  readonly tls: TlsFiles | undefined;
  close(): void;
}

/**
 * Reads what a server is protected by, and goes on watching it.
 *
 * @param onProblem told of files that were changed into what cannot be used; what was read before stays in force.
 * @throws ListenError PAWL_HOST_REFUSED for an address that others can reach, unless there are TLS and tokens; TokenFileError; TlsFilesError.
 */
export async function openDoor(
  options: DoorOptions,
  timers: Timers,
  onProblem: (error: unknown, where: string) => void,
): Promise<Door> {
  const { kernel, tls: source, allowedHosts } = options;
  const credentials = new Credentials(() => kernel.info().nowMs);
  const hosts = new Hosts(allowedHosts);
  const opened: { close: () => void }[] = [];
  const close = (): void => {
    for (const part of opened) {
      part.close();
    }
  };
  try {
    if (options.tokens !== undefined) {
      const report = (error: unknown): void => onProblem(error, "reading the token file");
      const parts = { ...options.tokens, credentials, timers, onProblem: report };
      opened.push(await TokenWatch.start(parts));
    }
    let tls: TlsFiles | undefined;
    if (source !== undefined) {
      tls = await TlsFiles.open(source, timers, (error) => onProblem(error, "reading TLS files"));
      opened.push(tls);
      hosts.useCertificate(tls.certificate);
      tls.onChange((_, certificate) => hosts.useCertificate(certificate));
    }
    requireProtected(options, { hasTls: tls !== undefined, hasTokens: credentials.isRequired });
    kernel.useStanding(credentials.standingOf);
    return { credentials, hosts, tls, close };
  } catch (error) {
    close();
    throw error;
  }
}

function requireProtected(
  { host, port, socketPath }: DoorOptions,
  { hasTls, hasTokens }: { readonly hasTls: boolean; readonly hasTokens: boolean },
): void {
  if (socketPath !== undefined || isLoopback(host) || (hasTls && hasTokens)) {
    return;
  }
  const missing = [
    ...(hasTls ? [] : ["TLS (--tls-cert FILE --tls-key FILE)"]),
    ...(hasTokens ? [] : ["tokens (pawl token create --name NAME --role ROLE)"]),
  ].join(" and ");
  const message = `Expected TLS and tokens, or an address that only this machine can reach (127.0.0.1, ::1 or localhost), but it is "${host}" without ${missing}.`;
  throw new ListenError("PAWL_HOST_REFUSED", message, { host, port });
}
