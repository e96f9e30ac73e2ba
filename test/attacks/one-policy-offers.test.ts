// The same policy for resources and prompts of servers and modules, tools of servers and calls of apps at every door and in every mode: generated rule sets.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonObject, ToolResult } from '../../src/index.js';
import type { ProtocolVersion } from '../support/clients.js';
import { MODEL, toDecision } from '../support/doors.js';
import { rounds } from '../support/effort.js';
import { createModuleWorkspace } from '../support/modules.js';
import {
  type Decision,
  FORWARDING,
  isHidden,
  judge,
  type Pattern,
  RUNNING,
  type RuleSet,
  ruleSetsOf,
  SEARCHING,
  toFiles,
} from '../support/rule-sets.js';
import { createServeTransport, serveUrl } from '../support/serve.js';
import { onEnd } from '../support/share.js';
import { spec } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';
import type { Workspace } from '../support/workspace.js';

const SETS = rounds(8, 200);
const SERVER = fileURLToPath(new URL('../support/offers-server.mjs', import.meta.url));
const PAGE = 'ui://far/app/page.html';
const FAR = ['resource:mcp://far/notes://one', 'resource:mcp://far/notes://by-id/7', `resource:${PAGE}`];
/** Exported by a module file (MOD-33). */
const OWN = ['resource:own://one', 'resource:own://by-id/7'];
const RESOURCES = [...FAR, ...OWN];
const PROMPTS = ['prompt:far_review', 'prompt:own-review'];
const APP_TOOL = 'far_refresh';
const MODEL_TOOL = 'far_show';
const TOOLS = [APP_TOOL, MODEL_TOOL];
const ALL = [...RESOURCES, ...PROMPTS, ...TOOLS];
/** Tools of search and code mode, which are always allowed unless a rule denies them. */
const MODES = [FORWARDING, SEARCHING, RUNNING];
/** By-id is read through a template, which is listed instead. */
const LISTED = ALL.filter((name) => !name.includes('by-id'));

const PATTERNS: readonly Pattern[] = [
  { text: '*', about: [...ALL, ...MODES] },
  { text: '**', about: [...ALL, ...MODES] },
  { text: 'resource:*', about: RESOURCES },
  { text: 'resource:mcp://far/*', about: FAR.slice(0, 2) },
  { text: 'resource:mcp://far/notes://one', about: FAR.slice(0, 1) },
  { text: 'resource:ui://far/*', about: FAR.slice(2) },
  { text: '*by-id*', about: [FAR[1]!, OWN[1]!] },
  { text: 'resource:own://*', about: OWN },
  { text: 'resource:own://one', about: OWN.slice(0, 1) },
  { text: 'prompt:*', about: PROMPTS },
  { text: 'prompt:far_review', about: PROMPTS.slice(0, 1) },
  { text: 'prompt:own-*', about: PROMPTS.slice(1) },
  { text: 'far_*', about: TOOLS },
  { text: MODEL_TOOL, about: [MODEL_TOOL] },
  { text: APP_TOOL, about: [APP_TOOL] },
  { text: '{far_refresh,nobody}', about: [APP_TOOL] },
  { text: '$*', about: MODES },
  { text: 'nobody', about: [] },
];

const MODULE = `
import { definePrompt, defineResource } from 'wield';
export const one = defineResource({ uri: 'own://one', name: 'one', read: () => 'one' });
export const byId = defineResource({ uri: 'own://by-id/{id}', name: 'by-id', read: () => 'by id' });
export const review = definePrompt({
  name: 'own-review', description: 'Review.', arguments: [{ name: 'op' }], get: () => 'review',
});
`;

function createFar(): Workspace {
  const workspace = createModuleWorkspace();
  workspace.module('own.tool.mjs', MODULE);
  const file = join(workspace.home, 'offers.json');
  const input = { inputSchema: { type: 'object' } };
  const offers = {
    tools: [
      { name: 'show', description: 'Show.', ...input, _meta: { ui: { resourceUri: 'ui://app/page.html' } } },
      { name: 'refresh', description: 'Refresh.', ...input, _meta: { ui: { visibility: ['app'] } } },
    ],
    resources: [
      { uri: 'notes://one', name: 'one' },
      { uri: 'ui://app/page.html', name: 'page', mimeType: 'text/html;profile=mcp-app' },
    ],
    templates: [{ uriTemplate: 'notes://by-id/{id}', name: 'by-id' }],
    prompts: [{ name: 'review', description: 'Review.', arguments: [{ name: 'op' }] }],
  };
  writeFileSync(file, JSON.stringify(offers));
  const args = [SERVER, join(workspace.home, 'far.starts'), file];
  configureServers(workspace, { far: { command: process.execPath, args } });
  return workspace;
}

interface OfferDoor {
  readonly name: string;
  /** The tool that makes calls of tools, if there is one. */
  readonly through?: string | undefined;
  decide(target: string, input: JsonObject): Promise<Decision>;
  /** The targets that it lists. */
  list(): Promise<readonly string[]>;
}

const idOf = (target: string): string => target.replace(/^(?:resource|prompt):/, '');

function openLibrary(workspace: Workspace): OfferDoor {
  const toolbox = workspace.toolbox({ trust: true });
  const caller = { ...MODEL, apps: true };
  const run = (target: string, input: JsonObject): Promise<ToolResult> => {
    if (TOOLS.includes(target)) return toolbox.call(target, input, { caller });
    if (PROMPTS.includes(target)) return toolbox.catalog.prompts.get(idOf(target), input, { caller });
    return toolbox.catalog.resources.read(idOf(target), { caller });
  };
  return {
    name: 'a library',
    decide: async (target, input) => toDecision((await run(target, input)).error?.code),
    list: async () => [
      ...(await toolbox.catalog.resources.list({ caller })).map(({ uri }) => `resource:${uri}`),
      ...(await toolbox.catalog.prompts.list({ caller })).map(({ name }) => `prompt:${name}`),
      ...(await toolbox.list({ caller })).map(({ name }) => name),
    ],
  };
}

const FRESH = { cacheMode: 'refresh' } as never;

async function openClient(
  workspace: Workspace,
  version: ProtocolVersion,
  wire: 'stdio' | 'http',
  mode: string,
): Promise<Client> {
  const flags = ['--trust', '--mode', mode];
  const negotiation = version === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {};
  const capabilities = { extensions: { 'io.modelcontextprotocol/ui': {} } };
  const client = new Client({ name: 'host', version: '1' }, { ...negotiation, capabilities } as never);
  await client.connect(
    wire === 'stdio'
      ? createServeTransport(workspace, flags)
      : new StreamableHTTPClientTransport(new URL(await serveUrl(workspace, flags))),
  );
  onEnd(() => client.close());
  return client;
}

type Send = (client: Client, target: string, input: JsonObject) => Promise<unknown>;

const asHost: Send = (client, target, input) => {
  if (TOOLS.includes(target)) return client.callTool({ name: target, arguments: input });
  if (PROMPTS.includes(target))
    return client.getPrompt({ name: idOf(target), arguments: input as Record<string, string> });
  return client.readResource({ uri: idOf(target) }, { cacheMode: 'bypass' } as never);
};

/** With the names of the app's own server. */
const asApp: Send = (client, target, input) => {
  const _meta = { 'wield/app': PAGE };
  if (TOOLS.includes(target))
    return client.callTool({ name: target.replace('far_', ''), arguments: input, _meta } as never);
  if ([...OWN, ...PROMPTS].includes(target)) return asHost(client, target, input);
  const uri = idOf(target).replace('mcp://far/', '').replace('ui://far/', 'ui://');
  return client.readResource({ uri, _meta } as never, { cacheMode: 'bypass' } as never);
};

const asSubscriber: Send = (client, target, input) =>
  target.startsWith('resource:') ? client.subscribeResource({ uri: idOf(target) }) : asHost(client, target, input);

/** As the model of a host with apps, in search mode. */
const asSearcher: Send = (client, target, input) =>
  TOOLS.includes(target)
    ? client.callTool({ name: FORWARDING, arguments: { name: target, input } })
    : asHost(client, target, input);

/** Likewise, by a program. */
const asProgram: Send = (client, target, input) =>
  TOOLS.includes(target)
    ? client.callTool({ name: RUNNING, arguments: { code: `await tools.${target}(${JSON.stringify(input)})` } })
    : asHost(client, target, input);

async function openProtocol(
  workspace: Workspace,
  version: ProtocolVersion,
  wire: 'stdio' | 'http',
  send: Send,
  through?: string,
): Promise<OfferDoor> {
  const mode = through === undefined ? 'all' : through === RUNNING ? 'code' : 'search';
  const client = await openClient(workspace, version, wire, mode);
  const namesOf = async (): Promise<readonly string[]> => {
    if (through === undefined) return (await client.listTools({}, FRESH)).tools.map(({ name }) => name);
    const found = await client.callTool({ name: SEARCHING, arguments: { queries: [...TOOLS], limit: 50 } });
    const text = JSON.stringify(found);
    return TOOLS.filter((name) => new RegExp(`${name}\\(`).test(text));
  };
  const codeOf = async (target: string, input: JsonObject): Promise<string | undefined> => {
    try {
      const result = (await send(client, target, input)) as { _meta?: Record<string, { code?: string }> };
      return result._meta?.['wield/error']?.code;
    } catch (error) {
      return (error as { data?: Record<string, { code?: string }> }).data?.['wield/error']?.code ?? String(error);
    }
  };
  return {
    name: `MCP over ${wire}, ${version}, ${send.name}`,
    through,
    decide: async (target, input) => {
      const code = await codeOf(target, input);
      // An app tool that is hidden is not in the list of names that apps may use.
      if (code === 'not_found') return 'deny';
      // The server has no subscriptions, which it is asked for if a read is allowed.
      return code === 'unavailable' ? 'allow' : toDecision(code);
    },
    list: async () => [
      ...(await client.listResources({}, FRESH)).resources.map(({ uri }) => `resource:${uri}`),
      ...(await client.listPrompts({}, FRESH)).prompts.map(({ name }) => `prompt:${name}`),
      ...(await namesOf()),
    ],
  };
}

function judgeThrough(through: string, set: RuleSet, target: string): Decision {
  const outer = judge(set, through, {}, true);
  if (outer !== 'allow') return outer;
  return target === APP_TOOL ? 'deny' : judge(set, target, {}, true);
}

spec(
  'POL-1 POL-8 RSC-1 RSC-20 RSC-21 MOD-33 SRV-9 COD-8',
  `${SETS} rule sets decide alike on resources, prompts, tools and calls of apps at every door and in every mode`,
  async () => {
    const workspace = createFar();
    const doors = [
      openLibrary(workspace),
      await openProtocol(workspace, 'older', 'stdio', asHost),
      await openProtocol(workspace, 'newer', 'stdio', asApp),
      await openProtocol(workspace, 'newer', 'http', asHost),
      await openProtocol(workspace, 'older', 'http', asSubscriber),
      await openProtocol(workspace, 'newer', 'stdio', asSearcher, FORWARDING),
      await openProtocol(workspace, 'newer', 'stdio', asProgram, RUNNING),
    ];
    for (const door of doors) await door.list();
    const probes = fc.record({
      target: fc.constantFrom(...ALL),
      input: fc.constantFrom<JsonObject>({}, { op: 'push' }, { op: 'log' }),
    });
    const cases = fc.sample(fc.tuple(ruleSetsOf(PATTERNS), probes), { numRuns: SETS, seed: 20_261_116 });
    const seen = { allow: 0, ask: 0, deny: 0 };
    for (const [index, [set, { target, input: given }]] of cases.entries()) {
      const input = PROMPTS.includes(target) ? given : {};
      const files = toFiles(set);
      workspace.config(files.user);
      workspace.write('.agents/config.toml', files.project);
      const direct = judge(set, target, input, true);
      seen[direct]++;
      for (const door of doors) {
        const about = { door: door.name, index, files, target, input };
        const { through } = door;
        // What only apps may call does not exist for a model, which names the tools in these modes.
        const expected = through === undefined || !TOOLS.includes(target) ? direct : judgeThrough(through, set, target);
        const isShown = (name: string): boolean =>
          through === undefined ||
          !TOOLS.includes(name) ||
          (name === MODEL_TOOL && judge(set, SEARCHING, {}, true) === 'allow');
        const visible = LISTED.filter((name) => !isHidden(set, name) && isShown(name));
        expect({ ...about, decision: await door.decide(target, input) }).toEqual({ ...about, decision: expected });
        const listed = await door.list();
        expect({ ...about, listed: LISTED.filter((name) => listed.includes(name)) }).toEqual({
          ...about,
          listed: visible,
        });
      }
    }
    // The generated sets must differ.
    for (const [kind, times] of Object.entries(seen)) expect([kind, times > 0]).toEqual([kind, true]);
  },
  rounds(300_000, 3_000_000),
);
