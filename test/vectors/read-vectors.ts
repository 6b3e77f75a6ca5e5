import { readFileSync } from "node:fs";
import type { OperationIdentity } from "@pawl/server/core/identity/operation-key.js";

// The shapes of the vector files, as README.md describes them.

export interface OperationKeyVector {
  readonly name: string;
  readonly identity: OperationIdentity;
  readonly fullForm: string;
  readonly key: string;
  readonly uuid: string;
}

export interface FingerprintVector {
  readonly name: string;
  readonly request: {
    readonly kind: "start" | "operation" | "step" | "answer";
    readonly name: string;
    readonly target?: string;
    readonly content?: {
      readonly contentType: string;
      readonly digestKind: "bytes" | "json" | "client" | "keyed";
      readonly digest: string;
    };
  };
  readonly encoded: string;
  readonly fingerprint: string;
}

export interface DigestVector {
  readonly name: string;
  readonly data: string;
  readonly canonical: string;
  readonly bytes: string;
  readonly json: string;
}

export interface RefusalVector {
  readonly name: string;
  readonly data: string;
  readonly reason: string;
  readonly offset: number;
  readonly path: string;
}

export function readOperationKeyVectors(): { readonly cases: readonly OperationKeyVector[] } {
  return readVectors("operation-key.json");
}

export function readFingerprintVectors(): { readonly cases: readonly FingerprintVector[] } {
  return readVectors("fingerprint.json");
}

export function readContentDigestVectors(): {
  readonly digests: readonly DigestVector[];
  readonly refusals: readonly RefusalVector[];
} {
  return readVectors("content-digest.json");
}

function readVectors<Vectors>(name: string): Vectors {
  const vectors: Vectors = JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
  return vectors;
}
