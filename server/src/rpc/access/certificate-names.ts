import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "node:tls";

/**
 * The names that a verified client certificate bears, as the token file has them: `DNS:…`, `URI:…`, `email:…` of its subject
 * alternative names, then `CN=…` of its subject. A name with characters that could be mistaken for the end of one is left out.
 */
export function certificateNames({ raw }: Pick<PeerCertificate, "raw">): string[] {
  const certificate = new X509Certificate(raw);
  const alternatives = (certificate.subjectAltName ?? "").split(", ");
  const commons = (certificate.subject ?? "").split("\n").filter((part) => part.startsWith("CN="));
  // Node puts names with commas, quotes or control characters into quotes, or escapes them with a backslash.
  return [...alternatives, ...commons].filter((name) => name !== "" && !/["\\]/.test(name));
}
