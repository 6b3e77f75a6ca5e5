import { posix } from "node:path";
import type { SourceFile } from "./source-file.js";

/** A part of the repository that the import rules speak of. */
export type Zone =
  | "proto"
  | "core"
  | "log"
  | "kernel"
  | "access"
  | "rpc"
  | "observe"
  | "cli"
  | "entry"
  | "sdk"
  | "examples"
  | "bench"
  | "test"
  | "tools";

/** What one zone may import. */
interface Rule {
  readonly zones: readonly Zone[];
  /** Packages from outside the repository; "any" leaves it to the manifest and the linter. */
  readonly packages: readonly string[] | "any";
  readonly mayUseNode: boolean;
}

const PROTOBUF = "@bufbuild/protobuf";
const TRANSPORT = ["@connectrpc/connect", "@connectrpc/connect-node", "@grpc/grpc-js"];

/** Imports go one way. The reasons are in ARCHITECTURE.md. */
const RULES: Readonly<Record<Zone, Rule>> = {
  proto: { zones: ["proto"], packages: [PROTOBUF], mayUseNode: false },
  core: { zones: ["core", "proto"], packages: [PROTOBUF], mayUseNode: false },
  log: { zones: ["log", "core", "proto"], packages: [PROTOBUF], mayUseNode: true },
  kernel: {
    zones: ["kernel", "core", "log", "observe", "proto"],
    packages: [PROTOBUF, "@opentelemetry/api"],
    mayUseNode: true,
  },
  // Roles, the table of methods, the token file: what the edge enforces and `pawl token` writes.
  access: { zones: ["access", "core"], packages: [], mayUseNode: true },
  rpc: {
    zones: ["rpc", "access", "kernel", "core", "observe", "proto"],
    packages: [PROTOBUF, ...TRANSPORT, "ajv", "canonicalize"],
    mayUseNode: true,
  },
  observe: { zones: ["observe", "proto"], packages: ["pino", "prom-client"], mayUseNode: true },
  cli: {
    zones: ["cli", "access", "observe", "proto"],
    packages: [PROTOBUF, ...TRANSPORT, "commander"],
    mayUseNode: true,
  },
  // Where the parts are put together: `pawl serve`, `pawl verify`, the embedded kernel.
  entry: {
    zones: ["entry", "cli", "rpc", "access", "kernel", "log", "core", "observe", "proto"],
    packages: [PROTOBUF, ...TRANSPORT, "commander"],
    mayUseNode: true,
  },
  sdk: {
    zones: ["sdk", "proto"],
    packages: [PROTOBUF, ...TRANSPORT, "@opentelemetry/api"],
    mayUseNode: true,
  },
  examples: { zones: ["examples", "sdk", "proto", "entry"], packages: "any", mayUseNode: true },
  bench: { zones: everywhere(), packages: "any", mayUseNode: true },
  test: { zones: everywhere(), packages: "any", mayUseNode: true },
  tools: { zones: ["tools", "test"], packages: "any", mayUseNode: true },
};

/** Files of a zone that put the parts together, and so may import what `entry` may. */
const ENTRIES =
  /^server\/src\/(?:[^/]+|cli\/main|cli\/(?:serve|verify|restore|doctor)(?:-[^/]+)?|cli\/(?:serve|verify|restore|doctor)\/.+)\.ts$/;

/** The packages of the store, and the one file of the server that may import them. */
const STORE_PACKAGES = ["level", "classic-level", "abstract-level", "memory-level"];
const STORE_FILE = "server/src/log/level-store.ts";

/** The server's one hash function over the host's crypto: it knows nothing of the log it lies with. */
const HASH_FILE = "server/src/log/sha256.ts";

/** The one file of the SDK that may import the server, an optional peer. */
const EMBEDDING_FILE = "sdk/src/open-kernel.ts";

/** The one file of the SDK that may import the test runner, an optional peer. */
const MATCHER_FILE = "sdk/src/testing-vitest.ts";

const PACKAGE_FOLDERS: Readonly<Record<string, string>> = {
  "@pawl/proto": "proto/gen/pawl",
  "@pawl/server": "server/src",
  "@pawl/sdk": "sdk/src",
};

function everywhere(): Zone[] {
  const server: Zone[] = ["core", "log", "kernel", "access", "rpc", "observe", "cli", "entry"];
  return ["proto", ...server, "sdk", "examples", "bench", "test", "tools"];
}

/** The zone of a file, or nothing when no rule speaks of it. */
export function zoneOf(path: string): Zone | undefined {
  if (ENTRIES.test(path)) return "entry";
  const inServer = /^server\/src\/(core|log|kernel|access|rpc|observe|cli)\//.exec(path)?.[1];
  if (inServer !== undefined) return inServer as Zone;
  if (/^(?:scripts|proto\/codegen|server\/bin)\//.test(path) || !path.includes("/")) return "tools";
  const folder = /^(proto|examples|bench|test)\//.exec(path)?.[1];
  if (folder !== undefined) return folder as Zone;
  return path.startsWith("sdk/src/") ? "sdk" : undefined;
}

/** What a specifier leads to: a file of ours (by path), a package, or Node.js itself. */
type Target =
  | { readonly kind: "own"; readonly path: string; readonly isByName: boolean }
  | { readonly kind: "package"; readonly name: string }
  | { readonly kind: "node" };

function resolveSpecifier(from: string, specifier: string): Target {
  if (specifier.startsWith("node:")) return { kind: "node" };
  if (specifier.startsWith(".")) {
    const path = posix.join(posix.dirname(from), specifier);
    return { kind: "own", path: path.replace(/\.js$/, ".ts"), isByName: false };
  }
  const [first = "", second = ""] = specifier.split("/");
  const name = specifier.startsWith("@") ? `${first}/${second}` : first;
  const folder = PACKAGE_FOLDERS[name];
  if (folder === undefined) return { kind: "package", name };
  const below = specifier.slice(name.length + 1).replace(/\.js$/, ".ts");
  return { kind: "own", path: `${folder}/${below === "" ? "index.ts" : below}`, isByName: true };
}

/** Says what each import of a file that goes the wrong way breaks. */
export function findImportViolations({ path, specifiers }: SourceFile): string[] {
  const zone = zoneOf(path);
  if (zone === undefined) return [`${path}: belongs to no zone of the import rules`];
  return specifiers.flatMap((specifier) => {
    const problem = judge(path, zone, resolveSpecifier(path, specifier));
    return problem === undefined ? [] : [`${path}: imports ${specifier}, but ${problem}`];
  });
}

function judge(path: string, zone: Zone, target: Target): string | undefined {
  const rule = RULES[zone];
  if (target.kind === "node") {
    return rule.mayUseNode ? undefined : `${zone} is pure and may not use Node.js`;
  }
  if (target.kind === "package") return judgePackage(path, zone, target.name);
  if (path.startsWith("sdk/") && target.path.startsWith("server/")) {
    return path === EMBEDDING_FILE ? undefined : `only ${EMBEDDING_FILE} may import the server`;
  }
  if (!target.isByName && isBetweenPackages(path, target.path)) {
    return "another package is imported by its name";
  }
  const targetZone = zoneOf(target.path);
  if (target.path === HASH_FILE && zone === "rpc") return undefined;
  if (targetZone === undefined || !rule.zones.includes(targetZone)) {
    return `${zone} may not import ${targetZone ?? "what belongs to no zone"}`;
  }
  return judgeInsideCore(path, zone, target.path);
}

function judgePackage(path: string, zone: Zone, name: string): string | undefined {
  if (STORE_PACKAGES.includes(name) && path.startsWith("server/src/")) {
    return path === STORE_FILE ? undefined : `only ${STORE_FILE} may import the store`;
  }
  if (name === "vitest" && path === MATCHER_FILE) return undefined;
  const { packages } = RULES[zone];
  return packages === "any" || packages.includes(name)
    ? undefined
    : `${zone} may not import this package`;
}

/** Deciding and applying know nothing of each other; the edge uses neither. */
function judgeInsideCore(path: string, zone: Zone, target: string): string | undefined {
  const isOf = (file: string, part: string): boolean =>
    new RegExp(`^server/src/core/${part}(?:/|\\.ts$)`).test(file);
  if (isOf(path, "decide") && isOf(target, "apply")) return "decide never imports apply";
  if (isOf(path, "apply") && isOf(target, "decide")) return "apply never imports decide";
  if (zone === "rpc" && (isOf(target, "apply") || isOf(target, "decide"))) {
    return "rpc only knows the core's types and the kernel";
  }
  return undefined;
}

/**
 * Whether an import leads into a package that others use. A module that Node.js itself runs (`.mjs`)
 * has no name by which to reach a source, and examples, benches and scripts are no packages.
 */
function isBetweenPackages(path: string, target: string): boolean {
  const isIntoPackage = /^(?:proto|server|sdk)\/.*\.ts$/.test(target);
  return isIntoPackage && path.endsWith(".ts") && folderOf(path) !== folderOf(target);
}

function folderOf(path: string): string {
  return path.split("/")[0] ?? path;
}
