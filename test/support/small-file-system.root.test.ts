import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { mountSmallFileSystem } from "./small-file-system.js";

it("is full when it is full, has room again when something goes, and leaves nothing", () => {
  const { folder, remove } = mountSmallFileSystem(256 * 1024);
  try {
    const fill = (): void => writeFileSync(join(folder, "big"), new Uint8Array(512 * 1024));
    expect(fill).toThrow(expect.objectContaining({ code: "ENOSPC" }));
    rmSync(join(folder, "big"));
    expect(() => writeFileSync(join(folder, "small"), new Uint8Array(128 * 1024))).not.toThrow();
  } finally {
    remove();
  }
  expect(existsSync(folder)).toBe(false);
});
