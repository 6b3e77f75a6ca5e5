import type { Command } from "commander";

const operationKey = "task/default/order-7/1/pay/payments.refund/1";

/** What is typed behind `npx --no pawl`, by the command that it shows. Each command has one at least; docs/reference/cli.md shows the same. */
export const helpExamples: Readonly<Record<string, readonly string[]>> = {
  serve: ["serve --dir .pawl --port 7295"],
  verify: ["verify --dir .pawl"],
  doctor: ["doctor --dir .pawl"],
  restore: ["restore --dir .pawl --reason 'put back from the copy of Monday'"],
  "demo crash": ["demo crash dist/order.js", "demo crash dist/order.js --kill worker"],
  replay: ["replay order-7.jsonl --module dist/order.js"],
  info: ["info"],
  "run start": [
    `run start greeting --plan plan.json --input '{"name":"Ada"}' --id greeting-1`,
    "run start greeting --plan plan.json --input @input.json --label team=support",
  ],
  "run show": ["run show order-7"],
  "run list": ["run list --status running --limit 100"],
  "run watch": ["run watch order-7"],
  "run history": ["run history order-7 --from 12"],
  "run export": [
    "run export order-7 --out order-7.jsonl",
    "run export --workflow order --status failed --out failed.jsonl",
  ],
  "export verify": ["export verify order-7.jsonl"],
  "run output": ["run output order-7 --task pay --follow"],
  "run query": ["run query order-7", "run query order-7 status"],
  "run update": [
    `run update order-7 change-address --payload '{"city":"Bonn"}' --update-id desk-12`,
  ],
  "run cancel": ["run cancel order-7 --reason 'the customer withdrew'"],
  "run pause": ["run pause order-7 --reason 'the bank is down'"],
  "run resume": ["run resume order-7 --expected-version 9"],
  "run terminate": ["run terminate order-7 --reason 'started by mistake'"],
  "plan show": [
    "plan show order-7",
    "plan show order-7 --plan-version 2 --draw mermaid",
    "plan show order-7 --edit > plan.json",
  ],
  "plan list": ["plan list order-7"],
  "plan diff": ["plan diff order-7", "plan diff order-7 1 3", "plan diff order-7 --file plan.json"],
  "plan revise": [
    "plan revise order-7 plan.json --expect 2 --reason 'the bank wants two signatures' --dry-run",
    "plan revise order-7 plan.json --expect 2 --reason 'the bank wants two signatures'",
  ],
  "plan hash": ["plan hash plan.json"],
  "run delete": [
    "run delete order-7 --dry-run",
    "run delete order-7 --reason 'asked for by the customer'",
  ],
  "task show": ["task show order-7 pay"],
  "task now": ["task now order-7 pay --reason 'the bank is back'"],
  "task complete": [
    `task complete order-7 pay --output '{"receipt":"R-1"}' --reason 'paid by phone' --expected-version 4`,
  ],
  "task fail": ["task fail order-7 pay --reason 'the account is closed' --expected-version 4"],
  "task reset": ["task reset order-7 pay --reason 'the bank is back'"],
  "task policy": [
    "task policy order-7 pay --attempts-max 20 --interval-max 5m --reason 'the bank is slow'",
    "task policy order-7 pay --start-to-close none --lease 2m --reason 'it takes long'",
  ],
  why: ["why order-7"],
  report: ["report order-7", "report --start last"],
  starts: ["starts"],
  "op show": [`op show ${operationKey}`],
  "op list": ["op list order-7", "op list --status needs-review"],
  inbox: ["inbox", "inbox --for ann --for role:finance"],
  "approvals list": ["approvals list --for role:finance"],
  "approvals show": ["approvals show 7-p0", "approvals show 7-p0 --out content.bin"],
  "approvals approve": ["approvals approve 7-p0 --fingerprint 03cbe4aeac6d489f"],
  "approvals reject": [
    "approvals reject 7-p0 --fingerprint 03cbe4aeac6d489f --reason 'paid twice already'",
  ],
  "approvals revoke": ["approvals revoke 7-p0 --reason 'the customer withdrew'"],
  "reviews list": ["reviews list --run order-7 --all"],
  "reviews show": ["reviews show 4-0"],
  "reviews watch": ["reviews watch"],
  "reviews resolve": [
    `reviews resolve 4-0 --choice done --result '{"ticket":812}' --reason "found it at the desk" --expected-version 1`,
    "reviews resolve 4-0 --choice not-done --reason 'the bank has no trace of it'",
  ],
  "inputs list": ["inputs list --addressee role:finance"],
  "inputs answer": [
    `inputs answer 7-0 --value '{"cents":500}' --expected-version 1`,
    "inputs answer 7-0 --decline 'not for us to say'",
  ],
  signal: [`signal order-7 paid --payload '{"cents":500}' --request-id bank-4711`],
  "namespace create": ["namespace create shop"],
  "namespace credentials": [
    "namespace credentials default",
    "namespace credentials default redact",
  ],
  "namespace list": ["namespace list"],
  "namespace retention show": ["namespace retention show"],
  "namespace retention set": [
    "namespace retention set --completed 30d --failed 90d --tombstones 365d",
    "namespace retention set --completed forever --namespace shop",
  ],
  "hold begin": ["hold begin order-7 --reason 'case 4711'", "hold begin --namespace shop"],
  "hold end": ["hold end order-7 --reason 'case 4711 is closed'"],
  "version set": ["version set order.ship 2", "version set order.ship 2 --expected-version 1"],
  "version remove": ["version remove order.ship"],
  "version show": ["version show order.ship"],
  "version list": ["version list"],
  "token create": [
    "token create --name ann --role approver --role finance --expires 90d",
    "token create --name desk-1 --role worker --namespace shop > desk-1.token",
  ],
  "token list": ["token list"],
  "token rotate": ["token rotate 3f9a1c0b7d52 --overlap 1h > desk-1.token"],
  "token revoke": ["token revoke 3f9a1c0b7d52"],
};

/** Adds its examples to the help of each command. */
export function addExamples(command: Command, words: readonly string[] = []): void {
  for (const child of command.commands) {
    const path = [...words, child.name()];
    addExamples(child, path);
    const examples = helpExamples[path.join(" ")] ?? [];
    if (examples.length > 0) {
      const heading = examples.length === 1 ? "Example:" : "Examples:";
      const lines = examples.map((line) => `  npx --no pawl ${line}`);
      child.addHelpText("after", ["", heading, ...lines].join("\n"));
    }
  }
}
