import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { REPOSITORY } from "./source-file.js";

interface Entry {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface LockFile {
  readonly packages: Readonly<Record<string, Entry>>;
}

const { packages }: LockFile = JSON.parse(
  readFileSync(join(REPOSITORY, "package-lock.json"), "utf8"),
);
const installed = Object.entries(packages).filter(([path]) => path.includes("node_modules/"));

/** A file made where node_modules already stood holds only the packages of that one platform. */
function listMissing(entries: Readonly<Record<string, Entry>>): string[] {
  return Object.entries(entries).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !isInstalledFor(entries, path, name))
      .map((name) => `${path} lacks ${name}`),
  );
}

/** As Node.js looks packages up: beside, then in each folder further out. */
function isInstalledFor(
  entries: Readonly<Record<string, Entry>>,
  path: string,
  name: string,
): boolean {
  if (entries[`${path === "" ? "" : `${path}/`}node_modules/${name}`] !== undefined) return true;
  if (path === "") return false;
  const outside = path.includes("/node_modules/") ? path.replace(/\/node_modules\/.*$/, "") : "";
  return isInstalledFor(entries, outside, name);
}

describe("the lock file", () => {
  it("holds the native packages of all platforms", () => {
    expect(installed.length).toBeGreaterThan(100);
    expect(listMissing(packages)).toEqual([]);
    for (const platform of ["darwin-arm64", "linux-x64", "linux-arm64"]) {
      const names = installed.map(([path]) => path).filter((path) => path.includes(platform));
      // The compiler, the linter, buf, the bundler and the parser of the tests.
      expect(names.length, platform).toBeGreaterThanOrEqual(5);
    }
  });

  it("would show a package of another platform that is missing", () => {
    const planted = {
      "node_modules/a": { optionalDependencies: { "a-linux": "1", "a-darwin": "1" } },
      "node_modules/a-linux": {},
    };
    expect(listMissing(planted)).toEqual(["node_modules/a lacks a-darwin"]);
  });

  it("names no registry, and has a digest for every package", () => {
    const fromRegistry = installed.filter(([, { link }]) => link !== true);
    expect(fromRegistry.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(fromRegistry.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
  });

  it("links our own packages", () => {
    const own = installed.filter(([path]) => path.startsWith("node_modules/@pawl/"));
    expect(own).toHaveLength(6);
    expect(own.every(([, { link }]) => link === true)).toBe(true);
  });
});

describe("the manifests", () => {
  const folders = ["", "proto/", "server/", "sdk/", "examples/", "bench/", "test/"];
  it.each(folders)("pin every version exactly in %s", (folder) => {
    const manifest = JSON.parse(readFileSync(join(REPOSITORY, folder, "package.json"), "utf8"));
    const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
  });
});
