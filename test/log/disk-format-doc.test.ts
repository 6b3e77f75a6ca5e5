import { readFile } from "node:fs/promises";
import { buildChunk, CHUNK_ORIGIN } from "@pawl/server/log/chunk.js";
import { chunkKey, KINDS, nameKey, runKey, segmentKey } from "@pawl/server/log/key.js";
import { chainOrigin } from "@pawl/server/log/meta.js";
import { writeRow } from "@pawl/server/log/row.js";
import { readSegment } from "@pawl/server/log/segment.js";
import { expect, test } from "vitest";
import { sampleSegment } from "./log-samples.js";

const doc = await readFile(new URL("../../docs/internals/disk-format.md", import.meta.url), "utf8");

/** The hex of each code block of the example: what stands before two spaces, one string for each paragraph. */
function exampleBlocks(): readonly string[] {
  const example = doc.slice(doc.indexOf("## An example"), doc.indexOf("## Writing"));
  const blocks = [...example.matchAll(/```\n([\s\S]*?)\n```/g)].map((match) => match[1] ?? "");
  return blocks.flatMap((block) => block.split("\n\n")).map(hexOf);
}

function hexOf(paragraph: string): string {
  return paragraph
    .split("\n")
    .map((line) => line.replace(/ {2,}.*$/, "").replaceAll(" ", ""))
    .join("");
}

test("the example of the disk format is what the code writes", () => {
  const segment = sampleSegment(chainOrigin("01234567-89ab-4def-8123-456789abcdef"), [3, 4]);
  const key = segmentKey.encode({ partition: 0, sequence: 1 });
  const slices = [...readSegment(key, segment.value).slices()].slice(0, 1);
  const chunk = { runNumber: 3, chunkNumber: 0, prevHash: CHUNK_ORIGIN.hash, slices };
  const run = runKey.encode({ partition: 0, runNumber: 3 });
  const payload = Uint8Array.of(8, 3);
  const expected = [
    key,
    segment.value,
    chunkKey.encode({ partition: 0, runNumber: 3, chunkNumber: 0 }),
    buildChunk(chunk).value,
    run,
    writeRow(run, { schemaVersion: 1, asOfEvent: 1, asOfSequence: 1, payload }),
    nameKey.encode({ partition: 0, namespace: "default", runId: "order-7" }),
  ];
  expect(exampleBlocks()).toEqual(expected.map((bytes) => Buffer.from(bytes).toString("hex")));
});

test("the key table of the disk format has every kind and its value", () => {
  const forms = { "row-or-empty": "row or empty" } as const;
  const rows = [...doc.matchAll(/^\| ([0-9a-f]{2}) +\| ([^|]+?) +\| [^|]+ \| ([^|]+?) +\|$/gm)];
  expect(rows.map((row) => [row[1], row[2]?.replace(" (reserved)", ""), row[3]])).toEqual(
    KINDS.map(({ kind, name, form }) => [
      kind.toString(16).padStart(2, "0"),
      name,
      form === "row-or-empty" ? forms[form] : form,
    ]),
  );
});
