import type { Store } from "../log/store.js";
import type { CredentialPolicies } from "./credential-policies.js";
import type { CurrentVersions } from "./current-versions.js";
import type { DiskWatch } from "./disk-watch.js";
import type { Hold } from "./hold.js";
import type { Loop } from "./loop.js";
import type { Namespaces } from "./namespaces.js";
import type { Timers } from "./ports.js";
import type { PositionJudge } from "./position-judge.js";
import type { Resident } from "./resident.js";
import type { Retentions } from "./retentions.js";
import type { Sessions } from "./sessions.js";
import type { Starts } from "./starts.js";
import type { Blobs } from "./storage/blobs.js";
import type { Checkpointer } from "./storage/checkpointer.js";
import type { Compactor } from "./storage/compactor.js";
import type { HistoryReader } from "./storage/history-reader.js";
import type { Lists } from "./storage/lists.js";
import type { RetentionKeeper } from "./storage/retention-keeper.js";
import type { Scrubber } from "./storage/scrubber.js";
import type { SetAside } from "./storage/set-aside.js";
import type { StartUp } from "./storage/start-up.js";
import type { WatchHub } from "./watch-hub.js";

/** What a kernel is put together from; `openKernel` does it. */
export interface KernelParts {
  readonly store: Store;
  readonly partition: number;
  readonly storeId: string;
  readonly storeEpoch: number;
  readonly loop: Loop;
  readonly sessions: Sessions;
  readonly positions: PositionJudge;
  readonly hold: Hold;
  readonly checkpointer: Checkpointer;
  readonly compactor: Compactor;
  readonly lists: Lists;
  readonly history: HistoryReader;
  readonly blobs: Blobs;
  readonly watchHub: WatchHub;
  readonly disk: DiskWatch;
  readonly timers: Timers;
  readonly startUp: StartUp;
  readonly scrubber: Scrubber;
  readonly keeper: RetentionKeeper;
  readonly setAside: SetAside;
  readonly namespaces: Namespaces;
  readonly versions: CurrentVersions;
  readonly credentialPolicies: CredentialPolicies;
  readonly retentions: Retentions;
  readonly starts: Starts;
  /** Says in a row that the store is closed with its log ending where it ends now. */
  readonly markClosed: () => Promise<void>;
  /** The store's own run: its events are those of no other. */
  readonly storeRun: Resident;
  /** Resolves when timers, ready tasks and leases of the store are all known. */
  readonly openWorkKnown: Promise<void>;
}
