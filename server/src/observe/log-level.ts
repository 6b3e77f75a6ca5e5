/** How much is told. `silent` tells nothing. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** All levels, the most talkative first. */
export const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

/** Reads a level; undefined when there is none of that name. */
export function readLogLevel(text: string): LogLevel | undefined {
  return logLevels.find((level) => level === text);
}
