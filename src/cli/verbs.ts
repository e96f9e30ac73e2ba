// The verbs, each with one line and loaded only when it is used.

import type { Verb } from './verb.js';

export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Verb>;
}

/** Other words for a verb, with the flags that they stand for. */
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
    summary: 'Make a first tool here',
    load: async () => (await import('./verbs/init.js')).init,
  },
  {
    name: 'list',
    summary: 'Show the tools there are',
    load: async () => (await import('./verbs/list.js')).list,
  },
  {
    name: 'show',
    summary: 'Show one tool in full',
    load: async () => (await import('./verbs/show.js')).show,
  },
  { name: 'call', summary: 'Call a tool', load: async () => (await import('./verbs/call.js')).call },
  {
    name: 'search',
    summary: 'Find tools by what they do',
    load: async () => (await import('./verbs/search.js')).search,
  },
  {
    name: 'doctor',
    summary: 'Say what is wrong and how to mend it',
    load: async () => (await import('./verbs/doctor.js')).doctor,
  },
  {
    name: 'serve',
    summary: 'Serve the tools to an agent (MCP)',
    load: async () => (await import('./verbs/serve.js')).serve,
  },
  {
    name: 'connect',
    summary: 'Let a client start this server',
    load: async () => (await import('./verbs/connect.js')).connect,
  },
  {
    name: 'mcp',
    summary: 'Use the tools of other servers',
    load: async () => (await import('./verbs/mcp.js')).mcp,
  },
  {
    name: 'add',
    summary: 'Register a source of tools and skills',
    load: async () => (await import('./verbs/add.js')).add,
  },
  {
    name: 'install',
    summary: 'Install items of sources, with what they need',
    load: async () => (await import('./verbs/install.js')).install,
  },
  {
    name: 'uninstall',
    summary: 'Remove installed items',
    load: async () => (await import('./verbs/uninstall.js')).uninstall,
  },
  {
    name: 'remove-source',
    summary: 'Forget a source, and remove its items',
    load: async () => (await import('./verbs/uninstall.js')).removeSource,
  },
  {
    name: 'sync',
    summary: 'Fetch what sources offer now',
    load: async () => (await import('./verbs/sync.js')).sync,
  },
  {
    name: 'upgrade',
    summary: 'Bring installed items to what their sources offer',
    load: async () => (await import('./verbs/upgrade.js')).upgrade,
  },
  {
    name: 'verify',
    summary: 'Prove that installed files are what was installed',
    load: async () => (await import('./verbs/verify.js')).verify,
  },
  {
    name: 'check',
    summary: 'Check a skill or a workspace for its author',
    load: async () => (await import('./verbs/check.js')).check,
  },
  {
    name: 'explain',
    summary: 'Say which rule decides a call',
    load: async () => (await import('./verbs/explain.js')).explain,
  },
  {
    name: 'trust',
    summary: 'Let models call the tools of a workspace',
    load: async () => (await import('./verbs/trust.js')).trust,
  },
  {
    name: 'approvals',
    summary: 'Show and answer the calls that wait for consent',
    load: async () => (await import('./verbs/approvals.js')).approvals,
  },
  {
    name: 'audit',
    summary: 'Show which calls were made, and which were refused',
    load: async () => (await import('./verbs/audit.js')).audit,
  },
  {
    name: 'capabilities',
    summary: 'Write down what the tools can do, for agents',
    load: async () => (await import('./verbs/capabilities.js')).capabilities,
  },
  {
    name: 'config',
    summary: 'Show the configuration that holds',
    load: async () => (await import('./verbs/config.js')).config,
  },
  {
    name: 'index',
    summary: 'Write the index that a library ships',
    load: async () => (await import('./verbs/write-index.js')).writeIndex,
  },
  {
    name: 'clean',
    summary: 'Remove caches',
    load: async () => (await import('./verbs/clean.js')).clean,
  },
  {
    name: 'completions',
    summary: 'Print a script that completes wield in a shell',
    load: async () => (await import('./verbs/completions.js')).completions,
  },
  {
    name: 'version',
    summary: 'Print the version',
    load: async () => (await import('./verbs/version.js')).version,
  },
];

/** Words that no tool or group can be called by (MOD-25). */
export const RESERVED: ReadonlySet<string> = new Set([
  ...VERBS.map((verb) => verb.name),
  ...Object.keys(ALIASES),
  'help',
  '__complete',
]);

/** The verb of a word or of another word for it, with the flags that this stands for. */
export function findVerb(
  word: string,
): { readonly entry: VerbEntry; readonly flags: readonly string[] } | undefined {
  const [name, ...flags] = (Object.hasOwn(ALIASES, word) ? ALIASES[word] : undefined) ?? [word];
  const entry = VERBS.find((verb) => verb.name === name);
  return entry && { entry, flags };
}
