// The verbs, each loaded on first use.

import { COMPATIBLE, findCompatible, toOwnArguments } from './compatibility.js';
import type { Verb } from './verb.js';

/** What a verb is for; `--help` lists the verbs by it. */
export type VerbGroup = 'make' | 'use' | 'connect' | 'govern' | 'install';

export interface VerbEntry {
  readonly name: string;
  readonly group: VerbGroup;
  readonly summary: string;
  readonly load: () => Promise<Verb>;
}

const verb = (group: VerbGroup, name: string, summary: string, load: () => Promise<Verb>): VerbEntry => ({
  name,
  group,
  summary,
  load,
});

export const VERBS: readonly VerbEntry[] = [
  verb('make', 'init', 'Create a first tool', async () => (await import('./verbs/init.js')).init),
  verb('make', 'new', 'Create a tool', async () => (await import('./verbs/new.js')).newTool),
  verb('make', 'remove', 'Remove a tool', async () => (await import('./verbs/remove.js')).remove),
  verb('make', 'check', 'Lint a skill, a workspace or a source', async () => (await import('./verbs/check.js')).check),
  verb(
    'make',
    'index',
    'Write the index of a skill library',
    async () => (await import('./verbs/write-index.js')).writeIndex,
  ),
  verb('use', 'list', 'List the tools', async () => (await import('./verbs/list.js')).list),
  verb('use', 'show', 'Show the details of a tool', async () => (await import('./verbs/show.js')).show),
  verb('use', 'search', 'Search tools by description', async () => (await import('./verbs/search.js')).search),
  verb('use', 'call', 'Call a tool', async () => (await import('./verbs/call.js')).call),
  verb('use', 'run', 'Run a program that calls tools', async () => (await import('./verbs/run.js')).run),
  verb(
    'connect',
    'serve',
    'Serve the tools to an agent over MCP',
    async () => (await import('./verbs/serve.js')).serve,
  ),
  verb('connect', 'worker', 'Run calls of a fleet', async () => (await import('./verbs/worker.js')).worker),
  verb('connect', 'fleet', 'Show the status of a fleet', async () => (await import('./verbs/fleet.js')).fleet),
  verb(
    'connect',
    'connect',
    'Add wield to Claude Code, Cursor, …',
    async () => (await import('./verbs/connect.js')).connect,
  ),
  verb('connect', 'tokens', 'Count tokens', async () => (await import('./verbs/tokens.js')).tokens),
  verb('connect', 'mcp', 'Manage upstream MCP servers', async () => (await import('./verbs/mcp.js')).mcp),
  verb(
    'connect',
    'capabilities',
    'Write a summary of the tools for agents',
    async () => (await import('./verbs/capabilities.js')).capabilities,
  ),
  verb(
    'connect',
    'completions',
    'Print a shell completion script',
    async () => (await import('./verbs/completions.js')).completions,
  ),
  verb('govern', 'ui', 'Show tools, calls and approvals on a page', async () => (await import('./verbs/ui.js')).ui),
  verb(
    'govern',
    'trust',
    'Let models call the tools of a workspace',
    async () => (await import('./verbs/trust.js')).trust,
  ),
  verb(
    'govern',
    'approvals',
    'List, approve and deny pending calls',
    async () => (await import('./verbs/approvals.js')).approvals,
  ),
  verb('govern', 'explain', 'Show which rule decides a call', async () => (await import('./verbs/explain.js')).explain),
  verb('govern', 'audit', 'Show the audit log', async () => (await import('./verbs/audit.js')).audit),
  verb('govern', 'config', 'Show the effective configuration', async () => (await import('./verbs/config.js')).config),
  verb('govern', 'doctor', 'Check the setup and suggest fixes', async () => (await import('./verbs/doctor.js')).doctor),
  verb('govern', 'clean', 'Remove caches and expired data', async () => (await import('./verbs/clean.js')).clean),
  verb('govern', 'version', 'Print the version', async () => (await import('./verbs/version.js')).version),
  verb('install', 'add', 'Add a source of tools and skills', async () => (await import('./verbs/add.js')).add),
  verb(
    'install',
    'install',
    'Install items with their dependencies',
    async () => (await import('./verbs/install.js')).install,
  ),
  verb('install', 'show-source', 'Show a source', async () => (await import('./verbs/show-source.js')).showSource),
  verb('install', 'uninstall', 'Uninstall items', async () => (await import('./verbs/uninstall.js')).uninstall),
  verb('install', 'upgrade', 'Upgrade installed items', async () => (await import('./verbs/upgrade.js')).upgrade),
  verb('install', 'outdated', 'List outdated items', async () => (await import('./verbs/outdated.js')).outdated),
  verb('install', 'sync', 'Fetch updates of sources', async () => (await import('./verbs/sync.js')).sync),
  verb('install', 'adopt', 'Move an item into a source', async () => (await import('./verbs/adopt.js')).adopt),
  verb(
    'install',
    'export',
    'Write what is installed as a source manifest',
    async () => (await import('./verbs/export.js')).exportInstalled,
  ),
  verb(
    'install',
    'import',
    'Take over what mind installed',
    async () => (await import('./verbs/import.js')).importSystem,
  ),
  verb('install', 'hooks', 'List hooks, and run them again', async () => (await import('./verbs/hooks.js')).hooks),
  verb(
    'install',
    'verify',
    'Check the hashes of installed files',
    async () => (await import('./verbs/verify.js')).verify,
  ),
  verb(
    'install',
    'remove-source',
    'Remove a source and its items',
    async () => (await import('./verbs/uninstall.js')).removeSource,
  ),
];

/** Names that no tool or group can have as a command (MOD-25). */
export const RESERVED: ReadonlySet<string> = new Set([
  ...VERBS.map((verb) => verb.name),
  ...COMPATIBLE.filter(({ yields }) => !yields).map(({ word }) => word),
  'help',
  '__complete',
]);

export interface FoundCommand {
  /** Undefined for the command of a tool. */
  readonly entry: VerbEntry | undefined;
  /** The word of wield. */
  readonly word: string;
  /** Returns the arguments of that word. */
  toArguments(argv: readonly string[]): readonly string[];
}

/** The entry of a word that is the command of a tool. */
export const toolEntry = (word: string): FoundCommand => ({ entry: undefined, word, toArguments: (argv) => argv });

/** Finds a command by its name or by that of another system. */
export function findCommandEntry(given: string): FoundCommand {
  const compatible = findCompatible(given);
  const word = compatible?.command ?? given;
  return {
    entry: VERBS.find((verb) => verb.name === word),
    word,
    toArguments: (argv) => (compatible === undefined ? argv : toOwnArguments(compatible, argv)),
  };
}
