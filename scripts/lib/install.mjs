import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { runChild } from "./child.mjs";
import { SetUpError } from "./errors.mjs";
import { digestOf, readJsonIfWhole, writeWhole } from "./files.mjs";

/** The flags are spelled out, so that neither NODE_ENV=production nor a person's npmrc leaves tools out. */
const NPM_CI = ["ci", "--include=dev", "--no-audit", "--no-fund"];

/**
 * What an outer npm hands down that would make `npm ci` install less, elsewhere, or nothing. The
 * rest (cache, registry, proxy, ignore-scripts) is a person's own choice and stays.
 */
const NPM_SETTINGS_DROPPED = [
  "dry_run",
  "global",
  "include",
  "include_workspace_root",
  "local_prefix",
  "location",
  "omit",
  "only",
  "package_lock",
  "package_lock_only",
  "production",
  "workspace",
  "workspaces",
].map((name) => `npm_config_${name}`);

/**
 * @typedef {object} InstallOptions
 * @property {string} root the repository's folder
 * @property {import("./stop.mjs").Stop} stop
 * @property {import("./lock.mjs").SetUpLock} lock
 * @property {(line: string) => void} say
 */

/**
 * Installs the packages unless they are there as the lock file says, for this Node and platform. The
 * stamp lies in node_modules, so that who deletes the one deletes the other.
 *
 * @param {InstallOptions} options
 * @returns {Promise<void>}
 * @throws {SetUpError} when npm is not found or `npm ci` fails
 */
export async function installIfStale({ root, stop, lock, say }) {
  const stampPath = join(root, "node_modules", ".pawl-set-up.json");
  const stamp = computeInstallStamp(root);
  const installed = /** @type {{ stamp?: unknown } | undefined} */ (readJsonIfWhole(stampPath));
  if (installed?.stamp === stamp) return;

  rmSync(stampPath, { force: true });
  say("installing packages (npm ci), some seconds to a minute …");
  let letGo = () => {};
  const npm = findNpm();
  const code = await runChild({
    command: npm.command,
    args: [...npm.args, ...NPM_CI],
    cwd: root,
    env: environmentForNpm(root, say),
    stop,
    onSpawn: (pid) => {
      letGo = lock.alsoHeldBy(pid);
    },
  }).finally(() => letGo());
  if (code !== 0) {
    throw new SetUpError(
      `expected "npm ${NPM_CI.join(" ")}" to succeed, but it ended with code ${code}. ` +
        "What npm printed above says why; mend that and run the command again.",
    );
  }
  writeWhole(stampPath, `${JSON.stringify({ stamp })}\n`);
}

/** What of a manifest decides on what is installed; its scripts, for one, do not. */
const MANIFEST_FIELDS = [
  "allowScripts",
  "bin",
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "overrides",
  "peerDependencies",
  "workspaces",
];

/**
 * Names one state of node_modules: lock file, manifests, Node's binary interface, and platform.
 *
 * @param {string} root
 * @returns {string} hex
 */
export function computeInstallStamp(root) {
  const manifest = readManifest(root, "");
  const workspaces = /** @type {string[]} */ (manifest["workspaces"]);
  const manifests = [manifest, ...workspaces.map((name) => readManifest(root, name))];
  return digestOf([
    ["abi", process.versions.modules],
    ["platform", `${process.platform}-${process.arch}`],
    ["package-lock.json", readFileSync(join(root, "package-lock.json"))],
    ["manifests", JSON.stringify(manifests.map(pickInstalled))],
  ]);
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {Record<string, unknown>}
 */
function readManifest(root, folder) {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}

/** @param {Record<string, unknown>} manifest */
function pickInstalled(manifest) {
  return MANIFEST_FIELDS.map((field) => manifest[field] ?? null);
}

/**
 * Finds the npm that runs us, else the one that came with this Node, else the one on the PATH.
 *
 * @returns {{ command: string, args: string[] }} what npm's own arguments are added to
 * @throws {SetUpError} when there is none
 */
export function findNpm() {
  const beside = join(dirname(process.execPath), "..", "lib/node_modules/npm/bin/npm-cli.js");
  const running = process.env["npm_execpath"];
  // The variable is also set by yarn and pnpm, whose `ci` would be something else.
  if (running !== undefined && basename(running) === "npm-cli.js" && existsSync(running)) {
    return { command: process.execPath, args: [running] };
  }
  if (existsSync(beside)) return { command: process.execPath, args: [beside] };
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const candidate = join(folder, "npm");
    if (folder === "" || !existsSync(candidate)) continue;
    return { command: process.execPath, args: [realpathSync(candidate)] };
  }
  throw new SetUpError(
    "expected npm, which comes with Node.js, but found it neither beside this Node.js nor on the " +
      'PATH. Install Node.js with npm, then run "npm start" or "npm test".',
  );
}

/**
 * @param {string} root
 * @param {(line: string) => void} say
 * @returns {NodeJS.ProcessEnv}
 */
function environmentForNpm(root, say) {
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (NPM_SETTINGS_DROPPED.includes(name.toLowerCase())) delete env[name];
  }
  const cache = env["npm_config_cache"] ?? join(homedir(), ".npm");
  if (!isWritableFolder(cache)) {
    const own = join(root, ".set-up", "npm-cache");
    say(`npm's cache ${cache} cannot be written; using ${own}`);
    env["npm_config_cache"] = own;
  }
  return env;
}

/** @param {string} folder */
function isWritableFolder(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    // Read-only, forbidden, or below something that is no folder: whichever, npm cannot use it.
    return false;
  }
}
