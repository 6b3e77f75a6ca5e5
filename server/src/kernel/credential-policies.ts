import {
  decodeCredentialPoliciesRow,
  encodeCredentialPoliciesRow,
} from "@pawl/proto/log/v1/row_wire.js";
import { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import type { EventSlice } from "../log/segment.js";
import type { RowPut, Store } from "../log/store.js";
import { decodeEvents } from "./decode-events.js";
import { readMetaRow, writeMetaRow } from "./storage/meta-rows.js";

/** What a namespace does with credentials in content. */
export interface CredentialPolicyEntry {
  readonly namespace: string;
  readonly mode: CredentialMode;
  /** How often it was changed. */
  readonly version: number;
  /** Who changed it last. */
  readonly principal: string;
  /** When, ms since the Unix epoch. */
  readonly changedAtMs: number;
}

const rowName = "credential policies";

/**
 * What the namespaces of a store do with credentials in content. The events belong to the store's own run; the checkpointer keeps those that were ever changed in a meta row
 * beside that run's row, so that a start need not read its history.
 */
export class CredentialPolicies {
  readonly #byNamespace = new Map<string, CredentialPolicyEntry>();
  #changes = 0;

  /** Those of the meta row, and what the tail of the store's own run changed. @throws StoreDamaged */
  static read(
    store: Pick<Store, "get">,
    partition: number,
    tail: readonly EventSlice[],
  ): CredentialPolicies {
    const policies = new CredentialPolicies();
    const payload = readMetaRow(store, partition, rowName);
    for (const row of payload === undefined ? [] : decodeCredentialPoliciesRow(payload).policies) {
      policies.put(row);
    }
    for (const slice of tail) {
      for (const { body, atMs } of decodeEvents(slice)) {
        if (body.case === "credentialPolicyChanged") {
          policies.put({ ...body.value, changedAtMs: atMs });
        }
      }
    }
    return policies;
  }

  /** How often any of them was changed since the kernel opened. */
  get changes(): number {
    return this.#changes;
  }

  /** What is done with credentials in a namespace; REFUSE where nothing was ever said. */
  readonly modeIn = (namespace: string): CredentialMode =>
    this.#byNamespace.get(namespace)?.mode ?? CredentialMode.REFUSE;

  /** What is known of a namespace. */
  get(namespace: string): CredentialPolicyEntry {
    return (
      this.#byNamespace.get(namespace) ?? {
        ...{ namespace, mode: CredentialMode.REFUSE },
        ...{ version: 0, principal: "", changedAtMs: 0 },
      }
    );
  }

  /** Takes a change; an older one than is known changes nothing. */
  put(entry: CredentialPolicyEntry): void {
    if (entry.version > this.get(entry.namespace).version) {
      this.#byNamespace.set(entry.namespace, entry);
      this.#changes++;
    }
  }

  /** The row that keeps them; undefined while none was ever changed. */
  row(partition: number): RowPut | undefined {
    return this.#byNamespace.size === 0
      ? undefined
      : writeMetaRow(
          partition,
          rowName,
          encodeCredentialPoliciesRow({
            policies: [...this.#byNamespace.values()].map((entry) => ({ ...entry })),
          }),
        );
  }
}
