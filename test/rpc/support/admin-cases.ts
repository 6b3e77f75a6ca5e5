import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
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
];
