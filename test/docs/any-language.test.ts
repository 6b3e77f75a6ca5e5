import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { REPOSITORY } from "../tidy/source-file.js";
import { readFences } from "./support/markdown.js";
import { pageAt } from "./support/pages.js";
import { isExcerpt } from "./support/snippets.js";

/** A request of the page, and what its answer must hold. */
interface Exchange {
  readonly path: string;
  readonly body: string;
  readonly expected: unknown;
  readonly line: number;
}

function readExchanges(text: string): Exchange[] {
  const fences = readFences(text).filter(({ language }) => ["http", "json"].includes(language));
  const exchanges: Exchange[] = [];
  for (let index = 0; index < fences.length; index += 2) {
    const [request, answer] = [fences[index], fences[index + 1]];
    const [, path, body] = /^POST (\S+)\n\n([\s\S]+)$/.exec(request?.text ?? "") ?? [];
    if (request?.language !== "http" || answer?.language !== "json" || !path || !body) {
      throw new Error(`Expected a request and its answer from line ${request?.line} on.`);
    }
    exchanges.push({ path, body, expected: JSON.parse(answer.text), line: request.line });
  }
  return exchanges;
}

const page = pageAt("docs/guide/any-language.md");
const exchanges = readExchanges(page);
let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
});

afterAll(() => server.close());

/** Sends a request as the page says, and gives the answer, or the first one of a stream. */
function ask({ path, body }: Exchange): Promise<unknown> {
  return path.endsWith("/ClaimTasks") ? askStream(path, body) : askUnary(path, body);
}

async function askUnary(path: string, body: string): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const response = await server.json.fetch(path, { method: "POST", headers, body });
  return await response.json();
}

async function askStream(path: string, body: string): Promise<unknown> {
  const data = Buffer.from(body);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  const response = await server.json.fetch(path, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: Buffer.concat([head, data]),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes[0]).toBe(0);
  const end = 5 + bytes.readUInt32BE(1);
  // What follows is the end of the stream, which the page names by its flag.
  expect(bytes[end]).toBe(2);
  return JSON.parse(bytes.subarray(5, end).toString("utf8"));
}

describe("docs/guide/any-language.md", () => {
  it("shows Python that stands in the example line for line", () => {
    const files = ["worker.py", "tickets.py"].map((name) =>
      readFileSync(join(REPOSITORY, "examples/python", name), "utf8"),
    );
    const shown = readFences(page).filter(({ language }) => language === "python");
    expect(shown.length).toBeGreaterThan(3);
    const strange = shown.filter(({ text }) => !files.some((file) => isExcerpt(text, file)));
    expect(strange).toEqual([]);
  });

  it("has a request for everything that a worker does", () => {
    const methods = exchanges.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
    expect(methods).toEqual([
      "StartRuns",
      "ClaimTasks",
      "RenewLeases",
      "RecordSteps",
      "RecordObligations",
      "IntendOperation",
      "ObserveOperation",
      "ReportOutputs",
      "ReportOutputs",
      "RenewLeases",
      "GetResult",
      "IntendOperation",
    ]);
  });

  it("gets the answers that it shows, one after the other", async () => {
    for (const exchange of exchanges) {
      const answer = await ask(exchange);
      expect({ line: exchange.line, answer }).toMatchObject({
        line: exchange.line,
        answer: exchange.expected,
      });
    }
    expect(server.faults).toEqual([]);
  });
});
