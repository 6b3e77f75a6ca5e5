import { type Connection, connect } from "./connection.js";
import type { CliContext } from "./context.js";
import { readCredentials } from "./credentials.js";
import { describeError } from "./describe-error.js";
import { FollowUps } from "./follow-up.js";
import { findKernelUrl } from "./kernel-url.js";
import type { KernelOptions } from "./options.js";
import { Output } from "./output.js";

/** What to do next after a refusal, by its reason; undefined: what all commands say. */
export type NextSteps = (reason: string, followUps: FollowUps) => readonly string[] | undefined;

/** What a command that talks to a kernel works with. */
export interface KernelSession {
  readonly context: CliContext;
  readonly kernel: Connection;
  readonly out: Output;
  /** As given; empty means `default`. */
  readonly namespace: string;
  readonly followUps: FollowUps;
  /** False: the command proves nothing, so to the kernel it comes from `local`. */
  readonly isAuthenticated: boolean;
}

/** Connects, does the work, closes. Whatever is thrown comes out as a `CliError` that says what to do next. */
export async function withKernel(
  context: CliContext,
  options: KernelOptions,
  work: (session: KernelSession) => Promise<void>,
  nextSteps?: NextSteps,
): Promise<void> {
  const { tokenFile } = options;
  const followUps = new FollowUps({ url: options.url, namespace: options.namespace, tokenFile });
  const url = await findKernelUrl(context, options.url);
  const credentials = await readCredentials(context, options);
  const kernel = connect(url, credentials);
  const namespace = options.namespace ?? context.env["PAWL_NAMESPACE"] ?? "";
  try {
    const out = new Output(context, options.json);
    const isAuthenticated = credentials.token !== undefined || credentials.tls.cert !== undefined;
    await work({ context, kernel, out, namespace, followUps, isAuthenticated });
  } catch (error) {
    throw describeError(error, { url: kernel.url, followUps, nextSteps });
  } finally {
    kernel.close();
  }
}
