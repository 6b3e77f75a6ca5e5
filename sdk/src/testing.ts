export {
  type CrashDemo,
  type CrashDemoEntry,
  type CrashDemoLine,
  type CrashDemoOptions,
  crashDemo,
} from "./testing/crash-demo.js";
export type {
  CrashKill,
  CrashPoint,
  CrashSubject,
  ExactPoint,
  Moment,
} from "./testing/crash-point.js";
export {
  type CrashOptions,
  openTestEnvironment,
  TestEnvironment,
  type TestEnvironmentOptions,
} from "./testing/environment.js";
export {
  CrashWindowsDiffer,
  EffectsDiffer,
  ReplayDiffers,
  TestKitMisused,
  TestStuck,
} from "./testing/errors.js";
export {
  type CrashBody,
  type CrashReport,
  type CrashWindow,
  type CrashWindowOptions,
  describeReport,
  everyCrashWindow,
} from "./testing/every-crash-window.js";
export {
  assertReplays,
  type History,
  type Replay,
  type ReplayOptions,
  replay,
} from "./testing/replay.js";
export { type ModuleReplay, replayModule } from "./testing/replay-module.js";
export type { BodyEnd } from "./testing/run-ends.js";
export { type SurvivalOptions, surviveEveryCrash } from "./testing/survive.js";
export {
  type SinkCall,
  type SinkEffect,
  type TestSink,
  type TestSinkOptions,
  testSink,
} from "./testing/test-sink.js";
