import { readFileSync } from "node:fs";

/** The version of this package, from its manifest. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  if (typeof manifest === "object" && manifest !== null && "version" in manifest) {
    return String(manifest.version);
  }
  throw new Error("Expected the manifest of @pawl/server to name its version, but it does not");
}
