import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import { type Case, long, refused } from "./error-case.js";

const { method: admin } = AdminService;

/** Every documented error of AdminService that is a status; who may call it is tested in test/access. */
export const adminCases: readonly Case[] = [
  refused(admin.createNamespace, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ name: "" })),
  refused(admin.createNamespace, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ name: "*" })),
  refused(admin.createNamespace, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ name: long })),
  refused(admin.listNamespaces, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ pageSize: 1001 })),
  refused(admin.listNamespaces, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", () => ({
    pageToken: "zzz",
  })),
  ...[admin.setCurrentVersion, admin.removeCurrentVersion, admin.getCurrentVersion].map((method) =>
    refused(method, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
      workflow: "w".repeat(193),
      codeVersion: 1,
    })),
  ),
  refused(admin.setCurrentVersion, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    workflow: "w",
  })),
  refused(admin.setCurrentVersion, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    ...{ workflow: "w", codeVersion: 1_000_001 },
  })),
  ...[admin.setCurrentVersion, admin.removeCurrentVersion].map((method) =>
    refused(method, "FAILED_PRECONDITION PAWL_STALE_VERSION", () => ({
      ...{ workflow: "w", codeVersion: 1, expectedVersion: 7 },
    })),
  ),
  refused(admin.setCredentialPolicy, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({})),
  refused(admin.setCredentialPolicy, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () =>
    JSON.parse('{ "mode": 9 }'),
  ),
  refused(admin.setCredentialPolicy, "FAILED_PRECONDITION PAWL_STALE_VERSION", () => ({
    ...{ mode: CredentialMode.REDACT, expectedVersion: 7 },
  })),
  refused(admin.getCredentialPolicy, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    namespace: long,
  })),
  refused(admin.listCurrentVersions, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    pageSize: 1001,
  })),
  refused(admin.getStartReport, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ number: 77 })),
  refused(admin.getStartReport, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ pageSize: 1001 })),
  refused(admin.listCurrentVersions, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", () => ({
    pageToken: "zzz",
  })),
];
