import { rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TokenEntry } from "@pawl/server/access/token-entry.js";
import { formatTokenFile } from "@pawl/server/access/token-file.js";
import { Credentials } from "@pawl/server/rpc/access/credentials.js";
import { TokenWatch } from "@pawl/server/rpc/access/token-watch.js";
import { TlsFiles } from "@pawl/server/rpc/tls-files.js";
import { beforeEach, expect, test, vi } from "vitest";
import { VirtualTime } from "../support/virtual-time.js";
import { makeAuthority } from "./make-certificate.js";
import { temporaryFolder } from "./support.js";

/** A disk that fails to read, and does not afterwards, cannot be had; all else is the real one. */
const disk = vi.hoisted(() => ({
  fails: false,
  /** Called once, when the next file was read and before it is told. */
  meanwhile: undefined as (() => Promise<unknown>) | undefined,
}));
vi.mock(import("node:fs/promises"), async (importOriginal) => {
  const real = await importOriginal();
  const readFile = (async (...args: Parameters<typeof real.readFile>) => {
    if (disk.fails) {
      throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
    }
    const content = await real.readFile(...args);
    const { meanwhile } = disk;
    disk.meanwhile = undefined;
    await meanwhile?.();
    return content;
  }) as typeof real.readFile;
  return { ...real, readFile };
});

let folder: string;
let time: VirtualTime;
let problems: string[];
const onProblem = (error: unknown): void => {
  problems.push(String(error));
};

beforeEach(async () => {
  disk.fails = false;
  disk.meanwhile = undefined;
  folder = await temporaryFolder();
  time = new VirtualTime();
  problems = [];
});

async function place(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return path;
}

/** Lets the files be looked at, which takes real time. */
async function look(isDone: () => boolean): Promise<void> {
  await vi.waitFor(
    async () => {
      await time.advance(1_000);
      expect(isDone()).toBe(true);
    },
    { timeout: 20_000, interval: 5 },
  );
}

test("a token file that the disk did not give is read again, although it changes no more", async () => {
  const path = await place("tokens.json", formatTokenFile([]));
  const credentials = new Credentials(() => 0);
  const watch = await TokenWatch.start({
    ...{ path, isRequired: true, credentials },
    ...{ timers: time, onProblem },
  });
  const taken: number[] = [];
  const use = credentials.use.bind(credentials);
  credentials.use = (entries) => {
    taken.push(entries.length);
    use(entries);
  };
  const entry = {
    ...{ id: "0123456789ab", name: "alice", createdAt: "2026-01-02T03:04:05.000Z" },
    ...{ grants: [{ namespace: "default", roles: ["client"] }], secrets: [] },
    certificates: ["CN=alice"],
  };
  disk.fails = true;
  await place("tokens.json", formatTokenFile([entry]));
  await look(() => problems.length > 0);
  for (let round = 0; round < 3; round++) {
    await time.advance(1_000);
  }
  expect(problems).toEqual(["Error: EIO: i/o error, read"]);
  disk.fails = false;
  await look(() => taken.length > 0);
  expect(taken).toEqual([1]);
  watch.close();
});

test("a certificate that the disk did not give is read again, although it changes no more", async () => {
  const authority = makeAuthority("the authority");
  const [first, second] = [authority.certify(["CN=first"]), authority.certify(["CN=second"])];
  const certPath = await place("cert.pem", first.cert);
  const keyPath = await place("key.pem", first.key);
  const files = await TlsFiles.open({ certPath, keyPath }, time, onProblem);
  disk.fails = true;
  await place("key.pem", second.key);
  await place("cert.pem", second.cert);
  await look(() => problems.length > 0);
  for (let round = 0; round < 3; round++) {
    await time.advance(1_000);
  }
  expect(problems).toEqual([expect.stringContaining("EIO: i/o error, read")]);
  expect(files.certificate.subject).toBe("CN=first");
  disk.fails = false;
  await look(() => files.certificate.subject === "CN=second");
  files.close();
});

test("a certificate that is damaged is told once, until it changes", async () => {
  const { cert, key } = makeAuthority("the authority").certify(["CN=first"]);
  const certPath = await place("cert.pem", cert);
  const keyPath = await place("key.pem", key);
  const files = await TlsFiles.open({ certPath, keyPath }, time, onProblem);
  await place("cert.pem", "no PEM");
  await look(() => problems.length > 0);
  await utimes(certPath, 1, 1);
  for (let round = 0; round < 3; round++) {
    await time.advance(1_000);
  }
  expect(problems).toHaveLength(1);
  files.close();
});

function entryOf(name: string): TokenEntry {
  return {
    ...{ id: "0123456789ab", name, createdAt: "2026-01-02T03:04:05.000Z" },
    ...{ grants: [{ namespace: "default", roles: ["client"] }], secrets: [] },
    certificates: [`CN=${name}`],
  };
}

test("a token file that changes while it is read is read again", async () => {
  const path = await place("tokens.json", formatTokenFile([]));
  const credentials = new Credentials(() => 0);
  const watch = await TokenWatch.start({
    ...{ path, isRequired: true, credentials },
    ...{ timers: time, onProblem },
  });
  const taken: (string | undefined)[] = [];
  credentials.use = (entries) => {
    taken.push(entries[0]?.name);
  };
  disk.meanwhile = () => place("tokens.json", formatTokenFile([entryOf("second")]));
  await place("tokens.json", formatTokenFile([entryOf("first")]));
  await look(() => taken.at(-1) === "second");
  expect(taken).toEqual(["first", "second"]);
  watch.close();
});

test("a token file that changes while a kernel starts is read again", async () => {
  const path = await place("tokens.json", formatTokenFile([entryOf("first")]));
  const credentials = new Credentials(() => 0);
  const taken: (string | undefined)[] = [];
  credentials.use = (entries) => {
    taken.push(entries[0]?.name);
  };
  disk.meanwhile = () => place("tokens.json", formatTokenFile([entryOf("second")]));
  const watch = await TokenWatch.start({
    ...{ path, isRequired: true, credentials },
    ...{ timers: time, onProblem },
  });
  await look(() => taken.at(-1) === "second");
  expect(taken).toEqual(["first", "second"]);
  watch.close();
});

test("a certificate that changes while it is read is read again", async () => {
  const authority = makeAuthority("the authority");
  const [first, second, third] = ["CN=first", "CN=second", "CN=third"].map((name) =>
    authority.certify([name]),
  );
  if (first === undefined || second === undefined || third === undefined) {
    throw new Error("Expected three certificates");
  }
  const certPath = await place("cert.pem", first.cert);
  const keyPath = await place("key.pem", first.key);
  const files = await TlsFiles.open({ certPath, keyPath }, time, onProblem);
  disk.meanwhile = async () => {
    await place("key.pem", third.key);
    await place("cert.pem", third.cert);
  };
  await place("key.pem", second.key);
  await place("cert.pem", second.cert);
  await look(() => files.certificate.subject === "CN=third");
  expect(disk.meanwhile).toBeUndefined();
  files.close();
});
