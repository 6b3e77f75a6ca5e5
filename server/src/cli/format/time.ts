import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

/** The clock by which ages are told, and the local offset. */
export interface Clock {
  /** Ms since the Unix epoch. */
  nowMs(): number;
  /** Minutes that local time is ahead of UTC at a point. */
  offsetMinutes(atMs: number): number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in its two greatest units: `850ms`, `12s`, `3m 5s`, `2h`, `4d 6h`. */
export function formatLength(lengthMs: number): string {
  const ms = Math.max(0, Math.round(lengthMs));
  if (ms < SECOND) return `${ms}ms`;
  const whole = Math.floor(ms / SECOND) * SECOND;
  if (whole < MINUTE) return `${whole / SECOND}s`;
  if (whole < HOUR) return twoUnits(whole, [MINUTE, "m"], [SECOND, "s"]);
  if (whole < DAY) return twoUnits(whole, [HOUR, "h"], [MINUTE, "m"]);
  return twoUnits(whole, [DAY, "d"], [HOUR, "h"]);
}

function twoUnits(ms: number, great: [number, string], small: [number, string]): string {
  const greats = Math.floor(ms / great[0]);
  const smalls = Math.floor((ms - greats * great[0]) / small[0]);
  return smalls === 0 ? `${greats}${great[1]}` : `${greats}${great[1]} ${smalls}${small[1]}`;
}

/** A point in local time, as ISO 8601 to the second: `2026-01-02T10:00:00+01:00`. */
export function formatLocal(atMs: number, clock: Clock): string {
  const offset = clock.offsetMinutes(atMs);
  const local = new Date(atMs + offset * MINUTE).toISOString().slice(0, 19);
  const size = Math.abs(offset);
  const hours = String(Math.floor(size / 60)).padStart(2, "0");
  const minutes = String(size % 60).padStart(2, "0");
  return `${local}${offset < 0 ? "-" : "+"}${hours}:${minutes}`;
}

/** How far a point is from now: `3m 5s ago`, `in 12s`, `now`. */
export function formatAge(atMs: number, clock: Clock): string {
  const agoMs = clock.nowMs() - atMs;
  if (Math.abs(agoMs) < SECOND) return "now";
  return agoMs > 0 ? `${formatLength(agoMs)} ago` : `in ${formatLength(-agoMs)}`;
}

/** A point with its age: `2026-01-02T10:00:00+01:00 (3m 5s ago)`; `-` when there is none. */
export function formatTime(at: Timestamp | undefined, clock: Clock): string {
  if (at === undefined) return "-";
  const atMs = timestampMs(at);
  return `${formatLocal(atMs, clock)} (${formatAge(atMs, clock)})`;
}
