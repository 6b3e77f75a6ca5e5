import type { KernelApi } from "../kernel/kernel-api.js";
import type { Random, Timers } from "../kernel/ports.js";
import type { Meter } from "../observe/meter.js";
import type { Gate } from "./access/gate.js";
import type { JsonDigester } from "./digest/json-digester.js";
import type { Hosts } from "./hosts.js";
import type { Lifecycle } from "./lifecycle.js";
import type { PlanSource } from "./plan-source.js";
import type { SchemaChecker } from "./schema/schema-checker.js";
import type { ContentScreen } from "./screen/content-screen.js";

/** What every handler and stream of the edge works with. */
export interface Edge {
  readonly kernel: KernelApi;
  readonly digester: JsonDigester;
  readonly schemas: SchemaChecker;
  readonly plans: PlanSource;
  /** Keeps credentials out of what is recorded. */
  readonly screen: ContentScreen;
  readonly timers: Timers;
  readonly random: Random;
  readonly lifecycle: Lifecycle;
  readonly meter: Meter;
  /** Who calls, and whether they may. */
  readonly gate: Gate;
  /** Names under which it may be asked. */
  readonly hosts: Hosts;
  /** Version of the kernel, for GetServerInfo. */
  readonly version: string;
  /** Told of every error that no caller caused; what it is told is not in any answer. */
  readonly onFault: (error: unknown, where: string) => void;
}
