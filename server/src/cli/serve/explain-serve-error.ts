import { TokenFileError } from "../../access/token-file.js";
import { StoreLocked } from "../../log/open-store.js";
import { StoreError } from "../../log/store-errors.js";
import { ListenError } from "../../rpc/port.js";
import { TlsFilesError } from "../../rpc/tls-files.js";
import { CliError } from "../cli-error.js";
import type { ServeOptions } from "../commands/serve.js";
import { connect } from "../connection.js";
import { exitCodes } from "../exit-codes.js";
import { FollowUps } from "../follow-up.js";
import { DEFAULT_HOST, kernelUrl, readKernelHint } from "../kernel-url.js";
import { findListener } from "./find-listener.js";

/** What was to be served where, as given. */
export type ServePlace = Pick<
  ServeOptions,
  "dir" | "host" | "port" | "tokens" | "tlsCert" | "tlsKey" | "clientCa" | "allowHost"
>;

/** Who answers a probe for a kernel is waited for no longer. */
const PROBE_MS = 2_000;

/** Says of an error at start who is in the way, and what may be done. Other errors are given back as they are. */
export async function explainServeError(error: unknown, place: ServePlace): Promise<unknown> {
  if (error instanceof StoreError) {
    const isDamaged = error.code === "PAWL_STORE_DAMAGED";
    const verify = new FollowUps({ dir: place.dir }).command("verify");
    return await explainStoreError(error, place, isDamaged ? [verify] : []);
  }
  if (error instanceof TokenFileError || error instanceof TlsFilesError) {
    return refused(error, ["Mend the file that is named, then give the same command again."]);
  }
  if (!(error instanceof ListenError)) return error;
  return error.code === "PAWL_PORT_IN_USE"
    ? await explainTaken(error, place)
    : refused(error, ["Give what is missing, or another address: --host and --port."]);
}

/**
 * Says of an error of the store who is in the way; when nobody is, what else may be done, and who explains the folder. Other errors are given
 * back as they are.
 */
export async function explainStoreError(
  error: unknown,
  { dir }: Pick<ServePlace, "dir">,
  next: readonly string[] = [],
): Promise<unknown> {
  const doctor = new FollowUps({ dir }).command("doctor");
  if (error instanceof StoreLocked) return await explainLocked(error, doctor);
  if (!(error instanceof StoreError)) return error;
  return new CliError(error.message, {
    exitCode: error.code === "PAWL_STORE_FAILED" ? exitCodes.storeFailed : exitCodes.refused,
    reason: error.code,
    next: [...next, doctor],
    cause: error,
  });
}

/** The folder is in use: the message names the process, and the kernel is asked at the address it left. */
async function explainLocked(error: StoreLocked, doctor: string): Promise<CliError> {
  const hint = await readKernelHint(error.directory);
  if (hint?.port === undefined) return refused(error, [doctor]);
  const url = kernelUrl(hint.host, hint.port, hint.hasTls);
  return refused(error, [new FollowUps({ url }).command("info")]);
}

async function explainTaken(error: ListenError, place: ServePlace): Promise<CliError> {
  const { host, port } = error;
  const url = kernelUrl(host, port);
  const storeId = await probeKernel(url);
  const listener = await findListener(port);
  const process = listener === undefined ? "" : `, process ${listener.pid} ("${listener.name}")`;
  const who =
    storeId === undefined
      ? `another program${process},`
      : `a Pawl kernel on store ${storeId}${process},`;
  const message = `Expected port ${port} of ${host} to be free, but ${who} listens there.`;
  const elsewhere = serveElsewhere(place);
  const join = new FollowUps({ url }).command("info");
  return new CliError(message, {
    exitCode: exitCodes.refused,
    reason: error.code,
    next: [...(storeId === undefined ? [] : [join]), `${elsewhere}`],
    cause: error,
  });
}

/** The same again on a free port. All that guards it is restated: a line that is copied must not serve with less. */
function serveElsewhere(place: ServePlace): string {
  const { dir, host, tokens, tlsCert, tlsKey, clientCa, allowHost = [] } = place;
  const given = [
    ["--host", host === DEFAULT_HOST ? undefined : host],
    ["--tls-cert", tlsCert],
    ["--tls-key", tlsKey],
    ["--client-ca", clientCa],
    ...allowHost.map((name) => ["--allow-host", name] as const),
  ] as const;
  const options = given.flatMap(([option, value]) => (value === undefined ? [] : [option, value]));
  return new FollowUps({ dir, tokens }).command("serve", [], ["--port", "0", ...options]);
}

/** The id of the store that a kernel at `url` serves; undefined when no kernel answers there. */
async function probeKernel(url: string): Promise<string | undefined> {
  const kernel = connect(url);
  try {
    const info = await kernel.admin.getServerInfo({}, { timeoutMs: PROBE_MS });
    return info.storeId;
  } catch {
    // Whatever else answers is no kernel, which is all that is asked here.
    return undefined;
  } finally {
    kernel.close();
  }
}

function refused(
  error: StoreError | ListenError | TokenFileError | TlsFilesError,
  next: readonly string[],
): CliError {
  return new CliError(error.message, {
    exitCode: exitCodes.refused,
    reason: error.code,
    next,
    cause: error,
  });
}
