import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { matchesSecret, parseToken } from "@pawl/server/access/token.js";
import { readTokenFile } from "@pawl/server/access/token-file.js";
import { beforeEach, describe, expect, it } from "vitest";
import { type CliEnd, NOW_MS, parseLines, runCli } from "../cli/support/run-cli.js";
import { temporaryFolder } from "./support.js";

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});

const pawl = (...args: readonly string[]): Promise<CliEnd> =>
  runCli(["token", ...args], { cwd: folder });
const fileOf = () => join(folder, ".pawl", "tokens.json");
const create = (...args: readonly string[]) =>
  pawl("create", "--name", "alice", "--role", "client", ...args);

function counts(token: string, hash: string | undefined): boolean {
  const secret = parseToken(token.trim())?.secret ?? "";
  return matchesSecret(secret, Buffer.from(hash ?? "", "base64url"));
}

describe("pawl token create", () => {
  it("prints the token alone, and keeps its hash in a file that only its owner may read", async () => {
    const made = await create();
    expect(made.code).toBe(0);
    expect(made.out).toMatch(/^pawl_[0-9a-f]{12}_[A-Za-z0-9_-]{43}\n$/);
    expect(made.errors).toMatch(/of alice: client in default/);
    const text = await readFile(fileOf(), "utf8");
    expect(text).not.toContain(parseToken(made.out.trim())?.secret);
    expect(((await stat(fileOf())).mode & 0o777).toString(8)).toBe("600");
    const [entry] = (await readTokenFile(fileOf())) ?? [];
    expect(entry).toMatchObject({
      id: parseToken(made.out.trim())?.id,
      name: "alice",
      grants: [{ namespace: "default", roles: ["client"] }],
      createdAt: "2026-03-01T12:00:00.000Z",
      certificates: [],
    });
    expect(entry?.expiresAt).toBeUndefined();
    expect(counts(made.out, entry?.secrets[0]?.hash)).toBe(true);
    expect(await readdir(join(folder, ".pawl"))).toEqual(["tokens.json"]);
  });

  it("takes roles, namespaces and a time to live", async () => {
    const made = await pawl(
      ...["create", "--name", "bob@shop", "--role", "approver", "--role", "finance"],
      ...["--namespace", "pay", "--namespace", "mail", "--expires", "36h", "--json"],
    );
    expect(parseLines(made.out)).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{12}$/),
        name: "bob@shop",
        state: "active",
        grants: [
          { namespace: "pay", roles: ["approver", "finance"] },
          { namespace: "mail", roles: ["approver", "finance"] },
        ],
        createdAt: "2026-03-01T12:00:00.000Z",
        expiresAt: "2026-03-03T00:00:00.000Z",
        certificates: [],
        secrets: 1,
        token: expect.stringMatching(/^pawl_/),
        file: fileOf(),
      },
    ]);
  });

  it("says which roles open nothing", async () => {
    const made = await pawl("create", "--name", "c", "--role", "approver", "--role", "finance");
    expect(made.errors).toMatch(/By finance alone nothing may be called/);
  });

  it("makes an entry without a token for a certificate", async () => {
    const made = await create("--certificate", "DNS:a.test", "--certificate", "CN=a");
    expect(made).toMatchObject({ code: 0, out: "" });
    const [entry] = (await readTokenFile(fileOf())) ?? [];
    expect(entry).toMatchObject({ secrets: [], certificates: ["DNS:a.test", "CN=a"] });
  });

  it.each([
    [
      "a worker that approves",
      ["--name", "x", "--role", "worker", "--role", "approver"],
      /a worker must not approve/,
    ],
    [
      "no role that opens anything",
      ["--name", "x", "--role", "cilent"],
      /at least one role of worker/,
    ],
    ["the name of nobody", ["--name", "local", "--role", "client"], /not `local`/],
    ["a name with a space", ["--name", "a b", "--role", "client"], /1 to 100 letters/],
    ["no role", ["--name", "x"], /--role/],
    ["an ill-formed length", ["--name", "x", "--role", "client", "--expires", "soon"], /90d, 12h/],
    ["an endless length", ["--name", "x", "--role", "client", "--expires", "99999d"], /ten years/],
    ["an ill-formed certificate", ["--name", "x", "--role", "client", "--certificate", "a"], /CN=/],
  ])("refuses %s, and writes nothing", async (_, args, said) => {
    const refused = await pawl("create", ...args);
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.errors).toMatch(said);
    expect(await readTokenFile(fileOf())).toBeUndefined();
  });
});

describe("the file that pawl token create writes", () => {
  it("holds no name that would be worker by one token and approver by another", async () => {
    await pawl("create", "--name", "x", "--role", "worker");
    const before = await readFile(fileOf(), "utf8");
    const refused = await pawl(
      "create",
      "--name",
      "x",
      "--role",
      "approver",
      "--namespace",
      "other",
    );
    expect(refused.code).toBe(1);
    expect(refused.errors).toMatch(/x is worker and approver/);
    expect(await readFile(fileOf(), "utf8")).toBe(before);
  });

  it("leaves a damaged file as it is", async () => {
    await mkdir(join(folder, ".pawl"));
    await writeFile(fileOf(), "{", { mode: 0o600 });
    const refused = await create();
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.errors).toContain("PAWL_TOKEN_FILE_INVALID");
    expect(await readFile(fileOf(), "utf8")).toBe("{");
  });
});

describe("pawl token list", () => {
  it("shows who may do what, and no secret", async () => {
    const made = await create("--expires", "90d");
    const listed = await pawl("list");
    expect(listed.code).toBe(0);
    expect(listed.out).toMatch(
      /alice +client in default +active +2026-05-30T12:00:00.000Z +1 secret/,
    );
    const json = await pawl("list", "--json");
    const text = await readFile(fileOf(), "utf8");
    const [entry] = (await readTokenFile(fileOf())) ?? [];
    for (const out of [listed.out, json.out]) {
      expect(out).not.toContain(parseToken(made.out.trim())?.secret);
      expect(out).not.toContain(entry?.secrets[0]?.hash);
    }
    expect(text).toContain(entry?.secrets[0]?.hash);
  });

  it("says that without a file nothing is asked", async () => {
    expect((await pawl("list")).out).toMatch(/everyone is local/);
  });

  it("tells one that has expired", async () => {
    await create("--expires", "1h");
    const later = { nowMs: () => NOW_MS + 3_600_000, offsetMinutes: () => 0 };
    const listed = await runCli(["token", "list"], { cwd: folder, clock: later });
    expect(listed.out).toMatch(/alice .* expired/);
  });
});

describe("pawl token rotate", () => {
  it("adds a secret, and lets the old one count for the overlap", async () => {
    const old = (await create()).out;
    const id = parseToken(old.trim())?.id ?? "";
    const fresh = await pawl("rotate", id, "--overlap", "1h");
    expect(fresh.code).toBe(0);
    const [entry] = (await readTokenFile(fileOf())) ?? [];
    expect(entry?.secrets.map(({ expiresAt }) => expiresAt)).toEqual([
      "2026-03-01T13:00:00.000Z",
      undefined,
    ]);
    expect(counts(old, entry?.secrets[0]?.hash)).toBe(true);
    expect(counts(fresh.out, entry?.secrets[1]?.hash)).toBe(true);
    const third = await pawl("rotate", id, "--overlap", "0s");
    const [after] = (await readTokenFile(fileOf())) ?? [];
    expect(after?.secrets).toHaveLength(1);
    expect(counts(third.out, after?.secrets[0]?.hash)).toBe(true);
  });

  it("keeps two at most", async () => {
    const id = parseToken((await create()).out.trim())?.id ?? "";
    await pawl("rotate", id);
    const second = await pawl("rotate", id);
    const [entry] = (await readTokenFile(fileOf())) ?? [];
    expect(entry?.secrets).toHaveLength(2);
    expect(counts(second.out, entry?.secrets[1]?.hash)).toBe(true);
  });

  it.each(["rotate", "revoke"])("pawl token %s refuses an id that is not there", async (verb) => {
    await create();
    const refused = await pawl(verb, "000000000000");
    expect(refused.code).toBe(1);
    expect(refused.errors).toMatch(/there is none/);
  });
});

describe("pawl token revoke", () => {
  it("ends one, and says when nobody is left", async () => {
    const first = parseToken((await create()).out.trim())?.id ?? "";
    const second = parseToken((await create()).out.trim())?.id ?? "";
    const revoked = await pawl("revoke", first);
    expect(revoked).toMatchObject({ code: 0, errors: "" });
    expect((await readTokenFile(fileOf()))?.map(({ id }) => id)).toEqual([second]);
    expect((await pawl("revoke", second)).errors).toMatch(/nobody can call/);
    expect(await readTokenFile(fileOf())).toEqual([]);
  });
});

it("says what to check when the folder of the file is not there", async () => {
  const refused = await pawl("revoke", "absent", "--dir", "elsewhere");
  expect(refused.code).toBe(1);
  expect(refused.errors).toMatch(/ENOENT.*Check --dir and --tokens/);
  expect(refused.errors).toContain("Reason: PAWL_TOKEN_REFUSED");
});

describe("a command to run next", () => {
  it.each([
    ["--tokens", "other file.json"],
    ["--dir", "elsewhere"],
  ])("is about the same file as the one before it (%s)", async (option, path) => {
    const suffix = `${option} ${path.includes(" ") ? `'${path}'` : path}`;
    expect((await pawl("list", option, path)).out).toContain(
      `npx --no pawl token create --name NAME --role ROLE ${suffix}\n`,
    );
    await pawl("create", "--name", "alice", "--role", "client", option, path);
    for (const command of ["rotate", "revoke"]) {
      const { errors } = await pawl(command, "absent", option, path);
      expect(errors).toContain(`npx --no pawl token list ${suffix}\n`);
    }
  });
});
