import type { Command } from "commander";
import { addApprovalsCommands } from "./commands/approvals.js";
import { addDemo } from "./commands/demo.js";
import { addDoctor, type Doctor } from "./commands/doctor.js";
import { addExportCommands, type VerifyExport } from "./commands/export-verify.js";
import { addHoldCommands } from "./commands/hold.js";
import { addInbox } from "./commands/inbox.js";
import { addInfo } from "./commands/info.js";
import { addInputsCommands } from "./commands/inputs.js";
import { addNamespaceCommands } from "./commands/namespace.js";
import { addOpCommands } from "./commands/op.js";
import { addPlanCommands } from "./commands/plan.js";
import { addReplay } from "./commands/replay.js";
import { addReport } from "./commands/report.js";
import { addRestore, type Restore } from "./commands/restore.js";
import { addReviewsCommands } from "./commands/reviews.js";
import { addRunCommands } from "./commands/run.js";
import { addServe, type Serve } from "./commands/serve.js";
import { addSignal } from "./commands/signal.js";
import { addStarts } from "./commands/start-report.js";
import { addTaskCommands } from "./commands/task.js";
import { addTokenCommands } from "./commands/token.js";
import { addVerify, type Verify } from "./commands/verify.js";
import { addVersionCommands } from "./commands/version.js";
import { addWhy } from "./commands/why.js";
import type { CliContext } from "./context.js";
import { addExamples } from "./help-examples.js";
import { inheritSettings, newProgram } from "./new-program.js";

/** The commands that run a kernel's own parts in this process; who puts the program together gives them. */
export interface HostCommands {
  readonly serve: Serve;
  readonly verify: Verify;
  readonly restore: Restore;
  readonly doctor: Doctor;
  readonly verifyExport: VerifyExport;
}

/** The `pawl` command with all its commands. `setExitCode` is called by those that end with a code of their own. */
export function buildProgram(
  context: CliContext,
  host: HostCommands,
  setExitCode: (code: number) => void,
): Command {
  const program = newProgram(context);
  addServe(program, host.serve, setExitCode);
  addVerify(program, host.verify, setExitCode);
  addRestore(program, host.restore, setExitCode);
  addDoctor(program, host.doctor, setExitCode);
  addDemo(program, context, setExitCode);
  addReplay(program, context, setExitCode);
  addExportCommands(program, host.verifyExport, setExitCode);
  addRunCommands(program, context, setExitCode);
  addTaskCommands(program, context);
  addPlanCommands(program, context);
  addWhy(program, context);
  addReport(program, context);
  addStarts(program, context);
  addOpCommands(program, context);
  addInbox(program, context);
  addApprovalsCommands(program, context);
  addReviewsCommands(program, context);
  addInputsCommands(program, context);
  addSignal(program, context);
  addInfo(program, context);
  addNamespaceCommands(program, context);
  addHoldCommands(program, context);
  addVersionCommands(program, context);
  addTokenCommands(program, context);
  addExamples(program);
  inheritSettings(program);
  return program;
}
