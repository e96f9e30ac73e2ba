// All doors through which tools are called or listed; add new doors here, so that they are tested against the policy.

import type { Client } from '@modelcontextprotocol/client';
import { createCallbackRef } from '../../src/helpers.js';
import { type Caller, defineTool, type JsonObject, type ToolContext, type ToolResult } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { ADAPTERS, type Adapter } from './adapters.js';
import { json, wield } from './cli.js';
import { callTool, connectHttp, connectStdio, type ProtocolVersion } from './clients.js';
import { writeSkill } from './commands.js';
import { moduleText } from './modules.js';
import { BETWEEN, type Decision, FORWARDING, RUNNING, SEARCHING, THROUGH, TOOLS } from './rule-sets.js';
import type { Workspace } from './workspace.js';

export interface Door {
  readonly name: string;
  /** Tested with every n-th rule set only, because processes are slow. */
  readonly every: number;
  /** Whether an allowed call runs the tool. */
  readonly runs: boolean;
  /** For a person, who has no session (FLW-5). */
  readonly person?: true;
  /** For a model: shows nothing while the rules are invalid. */
  readonly model: boolean;
  /** The tool that makes the calls, if any; with `sameInput` it receives the same input. */
  readonly through?: { readonly name: string; readonly sameInput?: boolean };
  /** The tool that shows the others, if a rule can deny it. */
  readonly shownBy?: string;
  open(workspace: Workspace): Promise<OpenDoor>;
}

export interface OpenDoor {
  decide(ref: string, input: JsonObject): Promise<Decision>;
  /** Everything it shows about tools: lists, search results, errors for unknown names. */
  say(words: readonly string[], missing: readonly string[]): Promise<string>;
}

const CODE: Caller = { kind: 'code', door: 'library' };
export const MODEL: Caller = { kind: 'model', door: 'mcp' };

export function toDecision(code: string | undefined): Decision {
  if (code === undefined) return 'allow';
  if (code === 'needs_approval') return 'ask';
  if (code === 'denied') return 'deny';
  throw new Error(`neither a run nor a decision: ${code}`);
}

interface Relayed {
  readonly ref: string;
  readonly input: JsonObject;
}

const relay = async ({ ref, input }: Relayed, { toolbox }: ToolContext) => ({
  answer: await toolbox.call(ref, input),
});

const openToolbox = (workspace: Workspace): NodeToolbox =>
  workspace.toolbox({
    trust: true,
    tools: [
      defineTool({
        name: THROUGH,
        description: 'Calls another.',
        inputSchema: { type: 'object', properties: { ref: { type: 'string' }, input: { type: 'object' } } },
        execute: relay,
      }),
    ],
  });

/** Writes the intermediate tools: a module, code in a skill, and a delegating skill for each tool. */
export function writeBetween(workspace: Workspace): void {
  const code = 'async ({ ref, input }, { toolbox }) => ({ answer: await toolbox.call(ref, input) })';
  workspace.write(`.agents/tools/between.tool.mjs`, moduleText(`${BETWEEN}module`, code));
  writeSkill(workspace, `${BETWEEN}code`, {
    header: `metadata:\n  params: { ref: string, input: object }\n  delegate:\n    code: 'export default ${code}'`,
  });
  for (const [index, name] of TOOLS.entries())
    writeSkill(workspace, `${BETWEEN}${index}`, { header: `metadata:\n  delegate: ${name}` });
}

/** Creates a door that calls through another tool, which gets the reference and input. */
function throughDoor(
  name: string,
  through: string,
  every: number,
  open = (_toolbox: NodeToolbox): string => through,
): Door {
  const names = new WeakMap<NodeToolbox, string>();
  return libraryDoor(
    name,
    MODEL,
    async (toolbox, ref, input) => {
      const between = names.get(toolbox) ?? open(toolbox);
      names.set(toolbox, between);
      const outer = await toolbox.call(between, { ref, input }, { caller: MODEL });
      if (outer.error !== undefined) return toDecision(outer.error.code);
      const { answer } = outer.structured as unknown as { answer: ToolResult };
      return toDecision(answer.error?.code);
    },
    { through: { name: through === THROUGH ? THROUGH : BETWEEN }, every },
  );
}

/** Creates a door of the library: one method that decides, and what the toolbox shows to that caller. */
function libraryDoor(
  name: string,
  caller: Caller,
  decide: (toolbox: NodeToolbox, ref: string, input: JsonObject) => Promise<Decision>,
  more: Partial<Door> = {},
): Door {
  return {
    name,
    every: 1,
    runs: true,
    model: caller.kind === 'model',
    async open(workspace) {
      const toolbox = openToolbox(workspace);
      return {
        decide: (ref, input) => decide(toolbox, ref, input),
        async say(words, missing) {
          const found = await Promise.all(words.map((word) => toolbox.search(word, 20, { caller })));
          const names = [...(await toolbox.list({ hidden: true, caller })), ...found.flat()].map((tool) => tool.name);
          const answers = await Promise.all(missing.map((ref) => toolbox.call(ref, {}, { caller })));
          return JSON.stringify([names, answers]);
        },
      };
    },
    ...more,
  };
}

function protocolDoor(name: string, connect: (workspace: Workspace) => Promise<Client>, every = 1): Door {
  return {
    name,
    every,
    runs: true,
    model: true,
    async open(workspace) {
      const client = await connect(workspace);
      const call = (ref: string, input: JsonObject) => callTool(client, ref, input);
      return {
        async decide(ref, input) {
          const { _meta } = await call(ref, input);
          return toDecision(_meta?.['wield/error']?.code);
        },
        async say(_words, missing) {
          // The client may cache the list until the server announces a change.
          const { tools } = await client.listTools({}, { cacheMode: 'refresh' });
          const answers = [];
          for (const ref of missing) answers.push(await call(ref, {}));
          return JSON.stringify([tools, answers]);
        },
      };
    },
  };
}

/** A door whose client has the tools of search mode only. */
function searchDoor(protocol: ProtocolVersion): Door {
  return {
    name: `call_tool, ${protocol} protocol`,
    every: 1,
    runs: true,
    model: true,
    through: { name: FORWARDING },
    shownBy: SEARCHING,
    async open(workspace) {
      const client = await connectStdio(workspace, protocol, ['--trust', '--mode', 'search']);
      const ask = (name: string, input: JsonObject) => client.callTool({ name, arguments: input });
      return {
        async decide(name, input) {
          const { _meta } = await ask(FORWARDING, { name, input });
          return toDecision((_meta?.['wield/error'] as { code?: string } | undefined)?.code);
        },
        async say(words, missing) {
          const answers = [
            await client.listTools({}, { cacheMode: 'refresh' }),
            await ask(SEARCHING, { queries: [...words], limit: 50 }),
          ];
          for (const name of missing)
            answers.push(await ask(FORWARDING, { name }), await ask('describe_tool', { name }));
          return JSON.stringify(answers);
        },
      };
    },
  };
}

/** A door whose client has the tools of code mode only: programs make the calls. */
function codeDoor(): Door {
  return {
    name: 'programs',
    every: 1,
    runs: true,
    model: true,
    through: { name: RUNNING },
    shownBy: SEARCHING,
    async open(workspace) {
      const client = await connectStdio(workspace, 'newer', ['--trust', '--mode', 'code']);
      const ask = (name: string, input: JsonObject) => client.callTool({ name, arguments: input });
      const run = (code: string) => ask(RUNNING, { code });
      return {
        async decide(name, input) {
          const { _meta } = await run(`await tools[${JSON.stringify(name)}](${JSON.stringify(input)})`);
          return toDecision((_meta?.['wield/error'] as { code?: string } | undefined)?.code);
        },
        async say(words, missing) {
          const tried = `${JSON.stringify(missing)}.map((name) => tools[name]().catch(({ message, hint }) => [message, hint]))`;
          const found = `${JSON.stringify(words)}.map((word) => tools.$search(word, 50))`;
          const said = JSON.stringify([
            await client.listTools({}, { cacheMode: 'refresh' }),
            await ask(SEARCHING, { queries: [...words], limit: 50 }),
            await run(`return Promise.all([...${tried}, ...${found}])`),
          ]);
          // Programs have identifiers instead of names.
          return said.replace(/\bfile_(read|write)\b/g, 'file-$1');
        },
      };
    },
  };
}

function adapterDoor({ name, list, call }: Adapter): Door {
  return {
    name,
    every: 5,
    runs: true,
    model: true,
    async open(workspace) {
      const toolbox = openToolbox(workspace);
      return {
        async decide(ref, input) {
          const { text, isError } = await call(toolbox, ref, input);
          return toDecision(isError ? /^\[([a-z_]+)\]/.exec(text)?.[1] : undefined);
        },
        async say(_words, missing) {
          const tools = await list(toolbox);
          const answers = await Promise.all(missing.map((ref) => call(toolbox, ref, {})));
          return JSON.stringify([tools, answers]);
        },
      };
    },
  };
}

const stdio = (protocol: ProtocolVersion) => (workspace: Workspace) => connectStdio(workspace, protocol);

export const DOORS: readonly Door[] = [
  libraryDoor('a library call', CODE, async (toolbox, ref, input) =>
    toDecision((await toolbox.call(ref, input, { caller: CODE })).error?.code),
  ),
  libraryDoor('a library call for a model', MODEL, async (toolbox, ref, input) =>
    toDecision((await toolbox.call(ref, input, { caller: MODEL })).error?.code),
  ),
  throughDoor('a nested call', THROUGH, 1),
  libraryDoor(
    'a dry run',
    CODE,
    async (toolbox, ref, input) => (await toolbox.plan(ref, input, { caller: CODE })).verdict.verdict,
    { runs: false },
  ),
  libraryDoor(
    'an explanation',
    MODEL,
    async (toolbox, ref, input) => (await toolbox.explain(ref, input, { caller: MODEL })).verdict.verdict,
    { runs: false },
  ),
  protocolDoor('MCP over stdio, older protocol', stdio('older')),
  protocolDoor('MCP over stdio, newer protocol', stdio('newer')),
  searchDoor('older'),
  searchDoor('newer'),
  protocolDoor('MCP over HTTP', (workspace) => connectHttp(workspace, 'newer'), 4),
  ...ADAPTERS.map(adapterDoor),
  shellDoor('wield call', 20, (ref) => ['call', ref]),
  shellDoor('a generated command', 40, (ref) => [ref]),
];

/** The three ways of a model: a direct call, through `call_tool`, and in a program, which needs a process for each. */
export const DOORS_OF_MODELS: readonly Door[] = [
  protocolDoor('MCP over stdio', stdio('newer')),
  searchDoor('newer'),
  codeDoor(),
];

/** Doors that call through a tool written by `writeBetween`. */
export const DOORS_BETWEEN: readonly Door[] = [
  throughDoor('a call that a callback makes', BETWEEN, 1, (toolbox) =>
    createCallbackRef(toolbox, BETWEEN.slice(0, -1), relay),
  ),
  throughDoor('a call that a module makes', `${BETWEEN}module`, 1),
  throughDoor('a call that code in a skill makes', `${BETWEEN}code`, 1),
  libraryDoor(
    'a delegate',
    MODEL,
    async (toolbox, ref, input) => {
      const between = `${BETWEEN}${(TOOLS as readonly string[]).indexOf(ref)}`;
      return toDecision((await toolbox.call(between, input, { caller: MODEL })).error?.code);
    },
    { through: { name: BETWEEN, sameInput: true } },
  ),
];

function shellDoor(name: string, every: number, wordsFor: (ref: string) => readonly string[]): Door {
  return {
    name,
    every,
    runs: true,
    person: true,
    model: false,
    async open(workspace) {
      return {
        async decide(ref, input) {
          const run = await wield(workspace, [...wordsFor(ref), '--input', JSON.stringify(input), '--json']);
          return toDecision(json(run).error?.code);
        },
        async say(words, missing) {
          const runs = [
            await wield(workspace, ['list', '--hidden']),
            await wield(workspace, ['search', words.join(' '), '--limit', '50', '--json']),
            await wield(workspace, wordsFor(missing[0]!)),
          ];
          // The output repeats the query, which is not a result.
          return runs.map(({ stdout, stderr }) => stdout.replace(/"query":"[^"]*"/, '') + stderr).join('\n');
        },
      };
    },
  };
}
