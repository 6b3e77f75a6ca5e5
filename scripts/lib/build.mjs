import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { runChild } from "./child.mjs";
import { SetUpError } from "./errors.mjs";
import { digestOf, listFiles, readJsonIfWhole, writeWhole } from "./files.mjs";

/*
 * The build is written beside and then renamed. The sources are copied to .set-up/stage, compiled
 * there (incrementally: the stage is kept), and each package's finished `dist` takes the place of
 * the old one by rename. A kernel or a test that runs meanwhile sees the old build or the new one,
 * and a build that fails or is killed leaves the old one standing.
 */

/**
 * @typedef {object} BuildOptions
 * @property {string} root the repository's folder
 * @property {readonly string[]} packages which workspace folders are needed; those that they refer
 *   to in their tsconfig.json are built as well
 * @property {import("./stop.mjs").Stop} stop
 * @property {import("./lock.mjs").SetUpLock} lock
 * @property {(line: string) => void} say
 */

/**
 * @typedef {object} PackageState
 * @property {string} name the workspace's folder
 * @property {string[]} files its sources, relative to the folder
 * @property {string} sources digest of them and of all they are built from
 */

/**
 * Builds the packages whose sources differ from what their `dist` was built from.
 *
 * @param {BuildOptions} options
 * @returns {Promise<void>}
 * @throws {SetUpError} when the sources do not compile; nothing has changed then
 */
export async function buildIfStale({ root, packages, stop, lock, say }) {
  const states = readPackages(root, packages);
  const stale = states.filter((state) => !isFresh(root, state));
  if (stale.length === 0) return;

  say(`building ${stale.map((state) => state.name).join(", ")} …`);
  const setUpFolder = join(root, ".set-up");
  const stage = join(setUpFolder, "stage");
  fillStage(root, stage, states);
  let letGo = () => {};
  const code = await runChild({
    command: process.execPath,
    args: [join(root, "node_modules/typescript/bin/tsc"), "-b", ...stale.map(({ name }) => name)],
    cwd: stage,
    env: process.env,
    stop,
    onSpawn: (pid) => {
      letGo = lock.alsoHeldBy(pid);
    },
  }).finally(() => letGo());
  if (code !== 0) {
    throw new SetUpError(
      "expected the sources to compile, but the compiler printed the errors above. " +
        "Mend them and run the command again. Nothing that was built before has been replaced.",
    );
  }
  putInPlace(root, stage, stale);
}

/**
 * Reads the wanted packages and all that they refer to, each after what it is built from.
 *
 * @param {string} root
 * @param {readonly string[]} wanted
 * @returns {PackageState[]}
 */
function readPackages(root, wanted) {
  const compiler = readFileSync(join(root, "node_modules/typescript/package.json"));
  const base = readFileSync(join(root, "tsconfig.base.json"));
  /** @type {Map<string, PackageState>} */
  const states = new Map();
  /** @param {string} name */
  const read = (name) => {
    const folder = join(root, name);
    const needed = listReferences(root, name);
    for (const other of needed) if (!states.has(other)) read(other);
    const files = listFiles(folder, isSource);
    const sources = digestOf([
      ["compiler", compiler],
      ["tsconfig.base.json", base],
      ...needed.map((other) => /** @type {const} */ ([other, states.get(other)?.sources ?? ""])),
      ...files.map((file) => /** @type {const} */ ([file, readFileSync(join(folder, file))])),
    ]);
    states.set(name, { name, files, sources });
  };
  for (const name of wanted) if (!states.has(name)) read(name);
  return [...states.values()];
}

/** @param {string} name */
function isSource(name) {
  return /\.(?:[cm]?ts|json)$/.test(name);
}

/**
 * @param {string} root
 * @param {string} name
 * @returns {string[]} the other workspace folders that a package's tsconfig.json refers to
 */
function listReferences(root, name) {
  /** @type {{ references?: { path: string }[] }} */
  const config = JSON.parse(readFileSync(join(root, name, "tsconfig.json"), "utf8"));
  const folders = (config.references ?? []).map(
    ({ path }) => relative(root, resolve(root, name, path)).split(sep)[0] ?? "",
  );
  return [...new Set(folders)].filter((folder) => folder !== name).sort();
}

/**
 * Makes the stage hold the sources of now and no others. Unchanged files are left alone, so that the
 * compiler need not look at them again.
 *
 * @param {string} root
 * @param {string} stage
 * @param {readonly PackageState[]} states
 */
function fillStage(root, stage, states) {
  copyIfDifferent(join(root, "tsconfig.base.json"), join(stage, "tsconfig.base.json"));
  for (const { name, files } of states) {
    dropDeletedSources(join(stage, name), new Set(files));
    for (const file of files) copyIfDifferent(join(root, name, file), join(stage, name, file));
    linkIfMissing(join(root, name, "node_modules"), join(stage, name, "node_modules"));
    /** @type {{ name: string }} */
    const manifest = JSON.parse(readFileSync(join(root, name, "package.json"), "utf8"));
    linkIfMissing(join(stage, name), join(stage, "node_modules", manifest.name));
  }
}

/**
 * The compiler does not take back what it emitted for a source that is gone, so a package that lost
 * one is compiled from nothing.
 *
 * @param {string} folder the package's folder in the stage
 * @param {ReadonlySet<string>} wanted
 */
function dropDeletedSources(folder, wanted) {
  const deleted = listFiles(folder, isSource).filter((file) => !wanted.has(file));
  if (deleted.length === 0) return;
  for (const file of deleted) rmSync(join(folder, file));
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  forgetCompilerState(folder);
}

/**
 * @param {string} from
 * @param {string} to
 */
function copyIfDifferent(from, to) {
  const content = readFileSync(from);
  if (existsSync(to) && readFileSync(to).equals(content)) return;
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, content);
}

/**
 * @param {string} target
 * @param {string} link
 */
function linkIfMissing(target, link) {
  const isThere = lstatSync(link, { throwIfNoEntry: false }) !== undefined;
  if (isThere || !existsSync(target)) return;
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), target), link, "dir");
}

/**
 * @param {string} root
 * @param {string} stage
 * @param {readonly PackageState[]} states
 */
function putInPlace(root, stage, states) {
  const beside = join(root, ".set-up", "beside");
  rmSync(beside, { recursive: true, force: true });
  mkdirSync(beside, { recursive: true });
  for (const { name } of states) {
    cpSync(join(stage, name, "dist"), join(beside, `${name}-new`), { recursive: true });
    rmSync(stampPathOf(root, name), { force: true });
  }
  // From here to the end of the loop nothing else happens in this process: some renames, no more.
  for (const { name } of states) {
    const dist = join(root, name, "dist");
    if (existsSync(dist)) renameSync(dist, join(beside, `${name}-old`));
    renameSync(join(beside, `${name}-new`), dist);
  }
  for (const { name, sources } of states) {
    const stamp = { sources, outputs: fingerprintOutputs(join(root, name, "dist")) };
    writeWhole(stampPathOf(root, name), `${JSON.stringify(stamp)}\n`);
    forgetCompilerState(join(root, name));
  }
  rmSync(beside, { recursive: true, force: true });
}

/**
 * The compiler keeps notes on what it emitted to `dist`. Where `dist` is no longer what it left
 * there, it would trust them all the same.
 *
 * @param {string} folder a package's folder
 */
function forgetCompilerState(folder) {
  for (const file of listFiles(folder, (candidate) => candidate.endsWith(".tsbuildinfo"))) {
    rmSync(join(folder, file), { force: true });
  }
}

/**
 * @param {string} root
 * @param {PackageState} state
 */
function isFresh(root, { name, sources }) {
  const stamp = /** @type {{ sources?: unknown, outputs?: unknown } | undefined} */ (
    readJsonIfWhole(stampPathOf(root, name))
  );
  return (
    stamp?.sources === sources && stamp.outputs === fingerprintOutputs(join(root, name, "dist"))
  );
}

/**
 * Names, sizes and times of what was built: a compiler run by hand, or a deleted file, shows.
 *
 * @param {string} dist
 * @returns {string} hex
 */
function fingerprintOutputs(dist) {
  const files = listFiles(dist, () => true, new Set());
  return digestOf(
    files.map((file) => {
      const { size, mtimeMs } = statSync(join(dist, file));
      return /** @type {const} */ ([file, `${size} ${mtimeMs}`]);
    }),
  );
}

/**
 * @param {string} root
 * @param {string} name
 */
function stampPathOf(root, name) {
  return join(root, ".set-up", "built", `${name}.json`);
}
