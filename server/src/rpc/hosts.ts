import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** Names of loopback addresses. */
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i;

/** True for an address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return loopback.test(host);
}

/**
 * The names under which a kernel may be asked. A web page can make its own name lead to this address (DNS rebinding); its browser then
 * still sends that name. Loopback names are always right, others when the kernel's own certificate bears them, or when they were allowed.
 */
export class Hosts {
  readonly #allowed: ReadonlySet<string>;
  #certificate: X509Certificate | undefined;
  /** The last that was right: most callers say the same. */
  #last = "";

  /** @param allowed names that a proxy or a network gives it. */
  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map((name) => name.toLowerCase()));
  }

  /** Takes the names of a certificate, in place of those of the one before. */
  useCertificate(certificate: X509Certificate): void {
    this.#certificate = certificate;
    this.#last = "";
  }

  /** Whether an authority (`host`, `host:port`) is one of this kernel. */
  isOwn(authority: string): boolean {
    if (authority === this.#last && authority !== "") {
      return true;
    }
    const name = authority.replace(/:\d{1,5}$/, "").toLowerCase();
    const isRight = isLoopback(name) || this.#allowed.has(name) || this.#isCertified(name);
    if (isRight) {
      this.#last = authority;
    }
    return isRight;
  }

  /**
   * Whether a request may come from where its Origin header says. Browsers send it with whatever a page of another origin asks; the
   * kernel's own pages are asked under its own name.
   */
  isOwnOrigin(origin: string | undefined, authority: string): boolean {
    return (
      origin === undefined ||
      origin.toLowerCase() === `http://${authority.toLowerCase()}` ||
      origin.toLowerCase() === `https://${authority.toLowerCase()}`
    );
  }

  #isCertified(name: string): boolean {
    const bare = name.replace(/^\[(.*)\]$/, "$1");
    const certificate = this.#certificate;
    if (certificate === undefined || bare === "") {
      return false;
    }
    return isIP(bare) === 0
      ? certificate.checkHost(bare) !== undefined
      : certificate.checkIP(bare) !== undefined;
  }
}
