// The verbs, each loaded on first use.

import type { Verb } from './verb.js';

export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Verb>;
}

/** Aliases of verbs, with the flags they imply. */
export const ALIASES: Readonly<Record<string, readonly [verb: string, ...flags: string[]]>> = {
  meld: ['add'],
  unmeld: ['remove-source'],
  learn: ['install'],
  forget: ['uninstall'],
  recall: ['list', '--installed'],
  probe: ['search'],
  evolve: ['upgrade'],
  introspect: ['doctor'],
  review: ['check'],
};

export const VERBS: readonly VerbEntry[] = [
  {
    name: 'init',
    summary: 'Create a first tool',
    load: async () => (await import('./verbs/init.js')).init,
  },
  {
    name: 'list',
    summary: 'List the tools',
    load: async () => (await import('./verbs/list.js')).list,
  },
  {
    name: 'show',
    summary: 'Show the details of a tool',
    load: async () => (await import('./verbs/show.js')).show,
  },
  { name: 'call', summary: 'Call a tool', load: async () => (await import('./verbs/call.js')).call },
  {
    name: 'search',
    summary: 'Search tools by description',
    load: async () => (await import('./verbs/search.js')).search,
  },
  {
    name: 'doctor',
    summary: 'Check the setup and suggest fixes',
    load: async () => (await import('./verbs/doctor.js')).doctor,
  },
  {
    name: 'serve',
    summary: 'Serve the tools to an agent over MCP',
    load: async () => (await import('./verbs/serve.js')).serve,
  },
  {
    name: 'connect',
    summary: 'Add wield to Claude Code, Cursor and other clients',
    load: async () => (await import('./verbs/connect.js')).connect,
  },
  {
    name: 'mcp',
    summary: 'Manage upstream MCP servers',
    load: async () => (await import('./verbs/mcp.js')).mcp,
  },
  {
    name: 'add',
    summary: 'Add a source of tools and skills',
    load: async () => (await import('./verbs/add.js')).add,
  },
  {
    name: 'install',
    summary: 'Install items with their dependencies',
    load: async () => (await import('./verbs/install.js')).install,
  },
  {
    name: 'uninstall',
    summary: 'Uninstall items',
    load: async () => (await import('./verbs/uninstall.js')).uninstall,
  },
  {
    name: 'remove-source',
    summary: 'Remove a source and its items',
    load: async () => (await import('./verbs/uninstall.js')).removeSource,
  },
  {
    name: 'sync',
    summary: 'Fetch updates of sources',
    load: async () => (await import('./verbs/sync.js')).sync,
  },
  {
    name: 'upgrade',
    summary: 'Upgrade installed items',
    load: async () => (await import('./verbs/upgrade.js')).upgrade,
  },
  {
    name: 'verify',
    summary: 'Check installed files against their recorded hashes',
    load: async () => (await import('./verbs/verify.js')).verify,
  },
  {
    name: 'check',
    summary: 'Lint a skill, a workspace or a source',
    load: async () => (await import('./verbs/check.js')).check,
  },
  {
    name: 'explain',
    summary: 'Show which rule decides a call',
    load: async () => (await import('./verbs/explain.js')).explain,
  },
  {
    name: 'trust',
    summary: 'Trust a workspace, so that models can call its tools',
    load: async () => (await import('./verbs/trust.js')).trust,
  },
  {
    name: 'approvals',
    summary: 'List, approve and deny pending calls',
    load: async () => (await import('./verbs/approvals.js')).approvals,
  },
  {
    name: 'audit',
    summary: 'Show the audit log',
    load: async () => (await import('./verbs/audit.js')).audit,
  },
  {
    name: 'capabilities',
    summary: 'Write a summary of the tools for agents',
    load: async () => (await import('./verbs/capabilities.js')).capabilities,
  },
  {
    name: 'config',
    summary: 'Show the effective configuration',
    load: async () => (await import('./verbs/config.js')).config,
  },
  {
    name: 'index',
    summary: 'Write the index of a skill library',
    load: async () => (await import('./verbs/write-index.js')).writeIndex,
  },
  {
    name: 'clean',
    summary: 'Remove caches and expired data',
    load: async () => (await import('./verbs/clean.js')).clean,
  },
  {
    name: 'completions',
    summary: 'Print a shell completion script',
    load: async () => (await import('./verbs/completions.js')).completions,
  },
  {
    name: 'version',
    summary: 'Print the version',
    load: async () => (await import('./verbs/version.js')).version,
  },
];

/** Names that no tool or group can have as a command (MOD-25). */
export const RESERVED: ReadonlySet<string> = new Set([
  ...VERBS.map((verb) => verb.name),
  ...Object.keys(ALIASES),
  'help',
  '__complete',
]);

/** Finds a verb by name or alias, with the flags of the alias. */
export function findVerb(
  word: string,
): { readonly entry: VerbEntry; readonly flags: readonly string[] } | undefined {
  const [name, ...flags] = (Object.hasOwn(ALIASES, word) ? ALIASES[word] : undefined) ?? [word];
  const entry = VERBS.find((verb) => verb.name === name);
  return entry && { entry, flags };
}
