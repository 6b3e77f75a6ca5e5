/** What is still let in when the disk runs low. Pure: the caller reads the free bytes and asks. */

/** Bounds of free space, in bytes. */
export interface Watermarks {
  /** Below this, new runs are refused. Default 256 MiB. */
  readonly newRunsBytesMin: number;
  /** Below this, nothing that can wait is written: completions and decisions are refused too. Default 32 MiB. */
  readonly completionsBytesMin: number;
}

/** What may be written. */
export interface Admission {
  readonly newRuns: boolean;
  readonly completions: boolean;
}

/** The defaults of `Watermarks`: room for both write buffers of LevelDB, the tail, and a compaction beside them. */
export const WATERMARKS_DEFAULT: Watermarks = {
  newRunsBytesMin: 256 * 1024 * 1024,
  completionsBytesMin: 32 * 1024 * 1024,
};

/** Everything is let in. */
export const ADMIT_ALL: Admission = { newRuns: true, completions: true };

/** Letting in again begins a quarter above the bound, or a disk at the bound would open and close with every run. */
export const REOPEN_FACTOR: number = 1.25;

/**
 * What is let in with so many free bytes, given what was let in before. Completions are let in for as long as new runs
 * are, whatever the bounds say: a run that may start may end.
 */
export function admit(
  freeBytes: number,
  before: Admission = ADMIT_ALL,
  marks: Watermarks = WATERMARKS_DEFAULT,
): Admission {
  const newRuns = isAbove(freeBytes, marks.newRunsBytesMin, before.newRuns);
  return {
    newRuns,
    completions: newRuns || isAbove(freeBytes, marks.completionsBytesMin, before.completions),
  };
}

function isAbove(freeBytes: number, bytesMin: number, wasAbove: boolean): boolean {
  return freeBytes >= (wasAbove ? bytesMin : bytesMin * REOPEN_FACTOR);
}
