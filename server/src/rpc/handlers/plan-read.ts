import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  DiffPlansRequest,
  DiffPlansResponseSchema,
  GetPlanRequest,
  GetPlanResponseSchema,
  ListPlanVersionsRequest,
  ListPlanVersionsResponseSchema,
  PlanVersionSchema,
} from "@pawl/proto/v1/plan_version_pb.js";
import { outputName } from "../../core/plan/compare-plans.js";
import { type PlanVersion, planVersionsOf } from "../../core/plan/plan-versions.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import { notFound } from "../../core/rejection.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import { sha256 } from "../../log/sha256.js";
import { specificationDigest } from "../digest/specification-digest.js";
import type { Edge } from "../edge.js";
import { alikeTasks } from "../same-json.js";
import { diffView, planOf, planVersionView } from "../views/plan-view.js";
import { targetOfRun } from "./requests.js";

/** Versions of a plan, with the names of the tasks that proposed them. */
interface Versions {
  readonly versions: readonly PlanVersion[];
  readonly proposers: readonly string[];
}

/** Reads one version of the plan of a run. */
export async function getPlan(
  edge: Edge,
  request: GetPlanRequest,
): Promise<MessageInitShape<typeof GetPlanResponseSchema>> {
  const found = await readVersions(edge, targetOfRun(request));
  const version = requireVersion(found, request.planVersion);
  return { version: await viewOf(edge, found, version), plan: planOf(version) };
}

/** Lists the versions of the plan of a run. */
export async function listPlanVersions(
  edge: Edge,
  request: ListPlanVersionsRequest,
): Promise<MessageInitShape<typeof ListPlanVersionsResponseSchema>> {
  const found = await readVersions(edge, targetOfRun(request));
  const views: MessageInitShape<typeof PlanVersionSchema>[] = [];
  for (const version of found.versions) {
    views.push(await viewOf(edge, found, version));
  }
  return { versions: views };
}

/** Compares two versions of the plan of a run. */
export async function diffPlans(
  edge: Edge,
  request: DiffPlansRequest,
): Promise<MessageInitShape<typeof DiffPlansResponseSchema>> {
  const target = targetOfRun(request);
  const found = await readVersions(edge, target);
  const to = requireVersion(found, request.toPlanVersion);
  const { fromPlanVersion } = request;
  const from = requireVersion(
    found,
    fromPlanVersion === 0 ? Math.max(1, to.planVersion - 1) : fromPlanVersion,
  );
  const alike = await alikeTasks(edge, target, { recorded: from.plan, received: to.plan });
  return {
    from: await viewOf(edge, found, from),
    to: await viewOf(edge, found, to),
    tasks: diffView(from, to, alike),
    outputBefore: outputName(from.plan),
    outputAfter: outputName(to.plan),
  };
}

function readVersions(edge: Edge, target: Target): Promise<Versions> {
  return edge.kernel.view(target, (run) => {
    const versions = [...planVersionsOf(run)];
    const proposers = versions.map(({ proposer }) =>
      proposer === undefined ? "" : nameOfTask(run, proposer),
    );
    return { versions, proposers };
  });
}

/** The version of this number; 0 is the present one. */
function requireVersion({ versions }: Versions, planVersion: number): PlanVersion {
  const version = planVersion === 0 ? versions.at(-1) : versions[planVersion - 1];
  if (version === undefined) {
    throw new RejectionError(notFound("plan", `version ${planVersion}`));
  }
  return version;
}

async function viewOf(
  edge: Edge,
  { versions, proposers }: Versions,
  version: PlanVersion,
): Promise<MessageInitShape<typeof PlanVersionSchema>> {
  const { plan, planVersion } = version;
  return planVersionView(version, {
    digest: sha256(plan.bytes),
    specificationDigest: await specificationDigest(plan, edge.digester),
    proposedBy: proposers[planVersion - 1] ?? "",
    isPresent: planVersion === versions.length,
  });
}
