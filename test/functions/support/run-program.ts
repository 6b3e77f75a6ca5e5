import {
  Fatal,
  isOk,
  json,
  NotSent,
  type Operation,
  operation,
  type ServedTask,
  type StepFailed,
  task,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";
import type { Mishap, Node, SinkKind } from "./programs.js";
import type { World } from "./world.js";

/** Longer than any execution takes: what waits for it loses. */
const FOR_EVER = "3000d";

type Sent = { readonly id: string; readonly mishap: Mishap };

/** What the workflow that runs a program is served with. */
export interface Served {
  readonly main: ServedTask<undefined, string>;
  readonly tasks: readonly ServedTask[];
}

interface Kit {
  readonly world: World;
  readonly operations: Readonly<Record<SinkKind, Operation<Sent, string>>>;
  readonly echo: ServedTask<string, string>;
  readonly broken: ServedTask<string, string>;
  readonly sub: ServedTask<string, string>;
}

/** Makes the workflow that runs this program, in this world. */
export function serveProgram(program: Node, world: World): Served {
  const operations = operationsOf(world);
  const echo = task("echo", { input: json<string>(), output: json<string>() }).run(
    async (_ctx, text) => {
      await world.pause();
      return text;
    },
  );
  const broken = task("broken", { input: json<string>(), output: json<string>() }).run(
    (_ctx, text) => {
      throw new Fatal(`no ${text}`);
    },
  );
  const sub = workflow("sub", {
    version: 1,
    input: json<string>(),
    output: json<string>(),
    retry: { attempts: 50, initial: "1s" },
  }).run(async (ctx, text) => {
    const called = ctx.call(echo, text);
    const done = await ctx.perform(
      operations.reconcilable,
      { id: text, mishap: "none" },
      { target: "sub" },
    );
    await ctx.sleep("rest", "10m");
    return `${done}+${await called}`;
  });
  const kit: Kit = { world, operations, echo, broken, sub };
  const main = workflow("main", {
    version: 1,
    output: json<string>(),
    retry: { attempts: 50, initial: "1s" },
  }).run(async (ctx) => {
    return await new Program(ctx, kit).run(program, { id: "p", turns: "" });
  });
  return { main, tasks: [main, echo, broken, sub] };
}

function operationsOf(world: World): Kit["operations"] {
  const common = {
    payload: json<Sent>(),
    result: json<string>(),
    callTimeout: "10s",
  } as const;
  return {
    idempotent: operation("do.idempotent", {
      ...common,
      sink: { kind: "idempotent", keyWindow: "10d" },
      call: (op) => world.act(op, true),
    }),
    reconcilable: operation("do.reconcilable", {
      ...common,
      sink: { kind: "reconcilable", settle: "2s" },
      call: (op) => world.act(op, false),
      lookup: (op) => world.find(op),
    }),
    opaque: operation("do.opaque", {
      ...common,
      sink: { kind: "opaque", settle: "2s" },
      call: (op) => world.act(op, false),
    }),
  };
}

/** Where a node stands: its identity in the program, and the turns of the loops around it. */
interface At {
  readonly id: string;
  readonly turns: string;
}

/** One execution of a program. */
class Program {
  readonly #ctx: WorkflowContext;
  readonly #kit: Kit;
  /** Everything that the code was given, in the order in which it was. */
  readonly #seen: string[] = [];

  constructor(ctx: WorkflowContext, kit: Kit) {
    this.#ctx = ctx;
    this.#kit = kit;
  }

  async run(node: Node, at: At): Promise<string> {
    const given = await this.#run(node, at);
    this.#seen.push(`${at.id}${at.turns}`);
    return given;
  }

  async #run(node: Node, at: At): Promise<string> {
    switch (node.do) {
      case "seq": {
        const values: string[] = [];
        for (const [place, each] of node.nodes.entries()) {
          values.push(await this.run(each, inner(at, place)));
          await this.#compare(at, place);
        }
        return `(${values.join(" ")})`;
      }
      case "all": {
        const all = node.nodes.map((each, place) => this.run(each, inner(at, place)));
        return `[${(await this.#ctx.all(all)).join(" ")}]`;
      }
      case "loop": {
        const values: string[] = [];
        for (let turn = 1; turn <= node.times; turn++) {
          values.push(await this.run(node.body, { ...inner(at, 0), turns: `${at.turns}:${turn}` }));
        }
        return `{${values.join(" ")}}`;
      }
      case "map":
        return await this.#map(node, at);
      case "race":
      case "any": {
        const entries = {
          body: this.run(node.body, inner(at, 0)),
          late: this.#ctx.sleep(`${at.id}-late`, FOR_EVER, keyOf(at)),
        };
        const won = await this.#ctx[node.do](`${at.id}${at.turns}`, entries);
        return `${won.winner}=${won.value ?? ""}`;
      }
      case "contest": {
        const all = node.nodes.map((each, place) => this.run(each, inner(at, place)));
        const first = await Promise.race(all.map(async (each, place) => each.then(() => place)));
        this.#seen.push(`${at.id}${at.turns} won by ${first}`);
        return `<${(await this.#ctx.all(all)).join(" ")}>`;
      }
      default:
        return await this.#leaf(node, at);
    }
  }

  async #map(node: Extract<Node, { do: "map" }>, at: At): Promise<string> {
    const items = Array.from({ length: node.items + node.late }, (_, item) => item);
    const options = {
      key: (item: number) => `i${item}`,
      join: node.late === 0 ? "all" : { atLeast: node.items },
      concurrency: Math.max(node.concurrency, items.length),
    } as const;
    const got = await this.#ctx.map(`${at.id}${at.turns}`, items, options, async (item) => {
      if (item < node.items) return await this.run(node.body, inner(at, 0));
      await this.#ctx.sleep("late", FOR_EVER);
      return "late";
    });
    const ended = got.map((each) => (isOk(each) ? each.value : each.status));
    return `|${ended.join(" ")}|`;
  }

  async #leaf(node: Node, at: At): Promise<string> {
    const ctx = this.#ctx;
    const { world, echo, broken, sub } = this.#kit;
    const key = keyOf(at);
    const id = `${at.id}${at.turns}`;
    switch (node.do) {
      case "step":
      case "read": {
        const drawn = await ctx[node.do](at.id, key, async () => {
          await world.pause();
          return world.draw();
        });
        this.#seen.push(`${id} drew ${drawn}`);
        return node.do;
      }
      case "failing-step":
        return await ctx
          .step(at.id, key, async () => {
            await world.pause();
            throw new Error(`${world.draw()}`);
          })
          .catch((error: StepFailed) => {
            this.#seen.push(`${id} failed with ${error.message}`);
            return error.code;
          });
      case "call":
        return await ctx.call(echo, id, { key: id });
      case "failing-call":
        return await ctx.call(broken, id, { key: id }).catch((error: Error) => error.message);
      case "workflow":
        return await ctx.call(sub, id, { key: id });
      case "child":
        return await ctx.child(sub, id, { name: at.id, ...key });
      case "sleep":
        await ctx.sleep(at.id, `${node.minutes}m`, key);
        return "slept";
      case "signal": {
        const got = await ctx.waitSignal<string>(at.id, { ...key, timeout: FOR_EVER });
        return got.status === "received" ? got.value : got.status;
      }
      case "ask": {
        const got = await ctx.ask<string>(at.id, { question: "What?", ...key });
        return got.status === "answered" ? got.value : got.status;
      }
      case "perform":
      case "approve":
        return await this.#effect(node, at);
      default:
        throw new Error(`what is ${node.do}?`);
    }
  }

  async #effect(node: Extract<Node, { sink: SinkKind }>, at: At): Promise<string> {
    const target = "world";
    const payload = { id: `${at.id}${at.turns}`, mishap: node.mishap };
    const used = this.#kit.operations[node.sink];
    const options = { target, key: `${at.id}${at.turns}` };
    try {
      if (node.do === "perform") {
        return await untilSent(() => this.#ctx.perform(used, payload, options));
      }
      const asked = { ...options, requesterMayDecide: true };
      const said = await this.#ctx.approve(used, payload, asked);
      return said.status === "approved" ? await untilSent(() => said.perform()) : said.status;
    } catch (error) {
      if (error instanceof Error && error.name === "Refused") return error.message;
      throw error;
    }
  }

  /** What the code has seen up to here is what the first execution that came here had seen. */
  async #compare(at: At, place: number): Promise<void> {
    const seen = this.#seen.join(", ");
    const name = `seen-${at.id}-${place}`;
    const first = await this.#ctx.step(name, { key: `${at.turns}.` }, () => seen);
    if (first !== seen) throw new Fatal(`saw first: ${first}; and again: ${seen}`);
  }
}

function inner({ id, turns }: At, place: number): At {
  return { id: `${id}.${place}`, turns };
}

function keyOf({ turns }: At): { readonly key?: string } {
  return turns === "" ? {} : { key: turns };
}

/** What never left may be tried again at once. */
async function untilSent<T>(perform: () => Promise<T>): Promise<T> {
  try {
    return await perform();
  } catch (error) {
    if (error instanceof NotSent) return await perform();
    throw error;
  }
}
