import { readdir, readFile, readlink } from "node:fs/promises";

/** The process that listens on a port. */
export interface Listener {
  readonly pid: number;
  readonly name: string;
}

/** State of a listening socket in /proc/net/tcp. */
const LISTENING = "0A";

/**
 * Finds who listens on a port of this machine, from Linux' /proc. Undefined elsewhere, and for processes that this user
 * may not look into.
 */
export async function findListener(port: number): Promise<Listener | undefined> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map(readOrNothing));
  const sockets = new Set(tables.flatMap((table) => listeningSockets(table, port)));
  if (sockets.size === 0) return undefined;
  const pids = (await namesIn("/proc")).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    if (await holdsOne(pid, sockets)) {
      const name = (await readOrNothing(`/proc/${pid}/comm`)).trim();
      return { pid: Number(pid), name };
    }
  }
  return undefined;
}

/** The sockets that listen on `port`, as links in /proc name them. See proc(5), /proc/net/tcp. */
export function listeningSockets(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return table
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) === true && fields[3] === LISTENING)
    .map((fields) => `socket:[${fields[9]}]`);
}

async function holdsOne(pid: string, sockets: ReadonlySet<string>): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  for (const descriptor of await namesIn(folder)) {
    const target = await readlink(`${folder}/${descriptor}`).catch(() => "");
    if (sockets.has(target)) return true;
  }
  return false;
}

/** Names in a folder; none where it is absent, gone meanwhile, or another user's. */
function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function readOrNothing(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
