/*
 * `npm run lock [-- --anew]`: makes package-lock.json for the manifests as they are now. npm puts the
 * native packages of all platforms into it only where no node_modules stand, so this is done in a
 * folder that holds the manifests and nothing else.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findNpm } from "./lib/install.mjs";
import { ROOT } from "./lib/set-up.mjs";

const folder = mkdtempSync(join(tmpdir(), "pawl-lock-"));
try {
  process.exitCode = makeLockFile();
} finally {
  rmSync(folder, { recursive: true });
}

function makeLockFile() {
  /** @type {{ workspaces: string[] }} */
  const { workspaces } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const isAnew = process.argv.includes("--anew");
  const copied = ["package.json", ".npmrc", ...workspaces.map((name) => `${name}/package.json`)];
  for (const path of isAnew ? copied : [...copied, "package-lock.json"]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(ROOT, path), join(folder, path));
  }
  const npm = findNpm();
  const args = [...npm.args, "install", "--package-lock-only", "--ignore-scripts"];
  const { status } = spawnSync(npm.command, args, { cwd: folder, stdio: "inherit" });
  if (status !== 0) return 1;
  copyFileSync(join(folder, "package-lock.json"), join(ROOT, "package-lock.json"));
  return 0;
}
