import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/**
 * Certificates for tests, made here: keys in the repository would be found by every scanner, and those of files expire. X.509 (RFC 5280)
 * in as much DER (X.690) as TLS wants.
 */

/** A certificate with its key, in PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

/** An authority that certifies names. */
export interface Authority extends Certified {
  /** @param names `CN=…`, `DNS:…`, `IP:…`, `URI:…`. */
  certify(names: readonly string[]): Certified;
}

/** Makes an authority. */
export function makeAuthority(name: string): Authority {
  const own = makeKeys();
  const cert = makeCertificate({
    subject: name,
    issuer: name,
    keys: own,
    signer: own,
    isAuthority: true,
  });
  return {
    cert,
    key: own.pem,
    certify: (names) => {
      const keys = makeKeys();
      const subject = names.find((each) => each.startsWith("CN="))?.slice(3) ?? "nameless";
      const made = { subject, issuer: name, keys, signer: own, isAuthority: false, names };
      return { cert: makeCertificate(made), key: keys.pem };
    },
  };
}

interface Keys {
  readonly key: KeyObject;
  readonly pem: string;
  readonly spki: Buffer;
}

function makeKeys(): Keys {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { key: createPrivateKey(privateKey), pem: privateKey, spki: publicKey };
}

interface CertificateParts {
  readonly subject: string;
  readonly issuer: string;
  readonly keys: Keys;
  readonly signer: Keys;
  readonly isAuthority: boolean;
  readonly names?: readonly string[];
}

let serial = 1;

function makeCertificate(parts: CertificateParts): string {
  const { subject, issuer, keys, signer, isAuthority, names = [] } = parts;
  const day = 86_400_000;
  const signed = sequence(
    tagged(0xa0, integer(2)),
    integer(++serial),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(utcTime(Date.now() - day), utcTime(Date.now() + day)),
    nameOf(subject),
    keys.spki,
    tagged(0xa3, sequence(...extensions(isAuthority, names))),
  );
  const signature = sign("sha256", signed, signer.key);
  const certificate = sequence(signed, ecdsaWithSha256, bitString(signature));
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function extensions(isAuthority: boolean, names: readonly string[]): Buffer[] {
  const basic = isAuthority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence();
  const alternatives = names.filter((name) => !name.startsWith("CN=")).map(generalName);
  return [
    sequence(oid("551d13"), der(0x01, Buffer.from([0xff])), octets(basic)),
    ...(alternatives.length === 0
      ? []
      : [sequence(oid("551d11"), octets(sequence(...alternatives)))]),
  ];
}

function generalName(name: string): Buffer {
  const [kind = "", ...rest] = name.split(":");
  const value = rest.join(":");
  switch (kind) {
    case "DNS":
      return der(0x82, Buffer.from(value));
    case "URI":
      return der(0x86, Buffer.from(value));
    case "IP":
      return der(0x87, Buffer.from(value.split(".").map(Number)));
    default:
      throw new Error(`Expected DNS, URI or IP, but it is ${kind}.`);
  }
}

function nameOf(common: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(common)))));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function tagged(tag: number, content: Buffer): Buffer {
  return der(tag, content);
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.from([value & 0x7f]));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function octets(content: Buffer): Buffer {
  return der(0x04, content);
}

function bitString(content: Buffer): Buffer {
  return der(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replaceAll(/[-:T]/g, "").slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

/** 1.2.840.10045.4.3.2 */
const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));
