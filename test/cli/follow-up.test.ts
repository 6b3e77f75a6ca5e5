import { execFileSync } from "node:child_process";
import { FollowUps, quoteWord } from "@pawl/server/cli/follow-up.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const here = new FollowUps({});

describe("a command to run next", () => {
  it("is what a person types", () => {
    expect(here.command("run show", ["order-7"])).toBe("npx --no pawl run show order-7");
  });

  it("restates address and namespace where they were given", () => {
    const there = new FollowUps({ url: "http://127.0.0.1:1234", namespace: "team a" });
    expect(there.command("why", ["r1"], ["--json"])).toBe(
      "npx --no pawl why r1 --json --url http://127.0.0.1:1234 --namespace 'team a'",
    );
  });

  it("restates the files that it was given, and no secret", () => {
    const asked = new FollowUps({ tokenFile: "alice.token", dir: "data", tokens: "t.json" });
    expect(asked.command("info")).toBe(
      "npx --no pawl info --token-file alice.token --dir data --tokens t.json",
    );
  });

  it("keeps an id that begins with a dash from being read as an option", () => {
    expect(here.command("why", ["-x"], ["--json"])).toBe("npx --no pawl why --json -- -x");
  });

  it("holds no control character", () => {
    expect(quoteWord("a\u001b[31m'b")).toBe("$'a\\x1b[31m\\'b'");
  });

  it("gives bash back exactly the word that was meant", () => {
    const word = fc
      .string({ unit: "grapheme", maxLength: 12 })
      .map((text) => `${text}`.replaceAll("\0", ""));
    const awkward = fc.constantFrom(
      "",
      "it's",
      "$(x)",
      "`x`",
      "a b",
      "\\",
      "\u001b",
      "é\u0085",
      "!!",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(word, awkward), { minLength: 1, maxLength: 20 }), (words) => {
        const script = `printf '%s\\0' ${words.map(quoteWord).join(" ")}`;
        const environment = { ...process.env, LC_ALL: "C.UTF-8" };
        const out = execFileSync("bash", ["-c", script], { encoding: "utf8", env: environment });
        expect(out.split("\0").slice(0, -1)).toEqual(words);
      }),
      { numRuns: 40 },
    );
  });
});
