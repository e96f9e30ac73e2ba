// The verbs, each loaded on first use.

import type { Argument } from '../commands/index.js';
import { ALIASES, findAlias, toOwnArguments } from './aliases.js';
import type { NamedVerb, Verb } from './verb.js';

type Load = () => Promise<Verb>;
type Row = readonly [summary: string, load: Load, modes?: Readonly<Record<string, Load>>];

/** What a verb is for; `--help` lists the verbs by it. */
export type VerbGroup = 'make' | 'use' | 'connect' | 'govern' | 'install';

/**
 * A verb that is loaded on first use. Its modes are other jobs of it, each with flags of its own, by the flag that chooses it:
 * `wield list --outdated`.
 */
export type VerbEntry = ReturnType<typeof of>[number];

const named = (name: string, load: Load) => async (): Promise<NamedVerb> => ({
  name,
  flags: {},
  positionals: 0,
  ...(await load()),
});

const of = (group: VerbGroup, rows: Readonly<Record<string, Row>>) =>
  Object.entries(rows).map(([name, [summary, load, modes = {}]]) => {
    const ofModes = Object.entries(modes).map(([mode, one]) => [mode, named(`${name} --${mode}`, one)] as const);
    return { name, group, summary, load: named(name, load), modes: Object.fromEntries(ofModes) };
  });

/** In the order of the help. */
export const VERBS: readonly VerbEntry[] = [
  ...of('make', {
    init: [
      'Create a first tool',
      async () => (await import('./verbs/init.js')).init,
      {
        index: async () => (await import('./verbs/write-index.js')).writeIndex,
        capabilities: async () => (await import('./verbs/capabilities.js')).capabilities,
      },
    ],
    new: ['Create a tool', async () => (await import('./verbs/new.js')).newTool],
    remove: [
      'Remove a tool or a source',
      async () => (await import('./verbs/remove.js')).remove,
      { source: async () => (await import('./verbs/uninstall.js')).removeSource },
    ],
    check: [
      'Lint a skill, a workspace or a source; check installed files',
      async () => (await import('./verbs/check.js')).check,
      { installed: async () => (await import('./verbs/verify.js')).verify },
    ],
  }),
  ...of('use', {
    list: [
      'List tools, installed items, sources',
      async () => (await import('./verbs/list.js')).list,
      {
        outdated: async () => (await import('./verbs/list-installed.js')).outdated,
        manifest: async () => (await import('./verbs/list-installed.js')).exportInstalled,
        tokens: async () => (await import('./verbs/tokens.js')).tokens,
        background: async () => (await import('./verbs/list-background.js')).listBackground,
      },
    ],
    show: [
      'Show a tool or a source',
      async () => (await import('./verbs/show.js')).show,
      { source: async () => (await import('./verbs/show.js')).showSource },
    ],
    search: ['Search tools by description', async () => (await import('./verbs/search.js')).search],
    call: ['Call a tool', async () => (await import('./verbs/call.js')).call],
    run: ['Run a program that calls tools', async () => (await import('./verbs/run.js')).run],
    record: ['Record calls', async () => (await import('./verbs/recordings.js')).record],
    replay: ['Replay calls', async () => (await import('./verbs/recordings.js')).replay],
    diff: ['Compare recordings', async () => (await import('./verbs/recordings.js')).diff],
  }),
  ...of('connect', {
    serve: ['Serve the tools to an agent over MCP', async () => (await import('./verbs/serve.js')).serve],
    worker: ['Run calls of a fleet', async () => (await import('./verbs/worker.js')).worker],
    fleet: ['Show the status of a fleet', async () => (await import('./verbs/fleet.js')).fleet],
    connect: ['Add wield to Claude Code, Cursor, …', async () => (await import('./verbs/connect.js')).connect],
    mcp: ['Manage upstream MCP servers', async () => (await import('./verbs/mcp.js')).mcp],
    completions: ['Print a shell completion script', async () => (await import('./verbs/completions.js')).completions],
  }),
  ...of('govern', {
    ui: ['Open the page', async () => (await import('./verbs/ui.js')).ui],
    trust: ['Let models call the tools of a workspace', async () => (await import('./verbs/trust.js')).trust],
    approvals: ['Answer pending calls', async () => (await import('./verbs/approvals.js')).approvals],
    explain: ['Show which rule decides a call', async () => (await import('./verbs/explain.js')).explain],
    audit: [
      'Show the audit log, and verify it',
      async () => (await import('./verbs/audit.js')).audit,
      { verify: async () => (await import('./verbs/audit-verify.js')).auditVerify },
    ],
    secrets: ['Keep secrets in the keychain', async () => (await import('./verbs/secrets.js')).secrets],
    config: ['Show the configuration', async () => (await import('./verbs/config.js')).config],
    doctor: [
      'Check the setup, suggest fixes, clean up',
      async () => (await import('./verbs/doctor.js')).doctor,
      { clean: async () => (await import('./verbs/clean.js')).clean },
    ],
    version: ['Print the version', async () => (await import('./verbs/version.js')).version],
  }),
  ...of('install', {
    add: [
      'Add a source of tools and skills',
      async () => (await import('./verbs/add.js')).add,
      { import: async () => (await import('./verbs/import.js')).importSystem },
    ],
    install: [
      'Install items',
      async () => (await import('./verbs/install.js')).install,
      { adopt: async () => (await import('./verbs/adopt.js')).adopt },
    ],
    uninstall: ['Uninstall items', async () => (await import('./verbs/uninstall.js')).uninstall],
    upgrade: [
      'Upgrade installed items, fetch updates',
      async () => (await import('./verbs/upgrade.js')).upgrade,
      { 'fetch-only': async () => (await import('./verbs/upgrade.js')).sync },
    ],
    hooks: ['List hooks, and run them again', async () => (await import('./verbs/hooks.js')).hooks],
  }),
];

/** Loads a verb, or the mode that one of the arguments chooses; that argument is left out. */
export async function loadVerb({ load, modes }: VerbEntry, before: readonly Argument[], argv: readonly string[]) {
  const end = argv.indexOf('--');
  const isMode = (raw: string, mode: string): boolean => raw === `--${mode}`;
  const raws = [
    ...before.flatMap((one) => ('raw' in one ? one.raw : [])),
    ...argv.slice(0, end === -1 ? undefined : end),
  ];
  const mode = Object.keys(modes).find((name) => raws.some((raw) => isMode(raw, name)));
  if (mode === undefined) return { verb: await load(), before, argv };
  return {
    verb: await modes[mode]!(),
    before: before.filter((one) => !('raw' in one && isMode(one.raw, mode))),
    argv: argv.filter((raw, at) => !isMode(raw, mode) || (end !== -1 && at > end)),
  };
}

/** Names that no tool or group can have as a command (MOD-25). */
export const RESERVED: ReadonlySet<string> = new Set([
  ...VERBS.map((verb) => verb.name),
  ...ALIASES.filter(({ yields }) => !yields).map(({ word }) => word),
  'help',
  '__complete',
]);

export interface FoundCommand {
  /** Undefined for the command of a tool. */
  readonly entry?: VerbEntry | undefined;
  /** The word of wield, and its arguments. */
  readonly word: string;
  readonly argv: readonly string[];
}

/** Finds a command by its name or an alias. */
export function findCommandEntry(given: string, argv: readonly string[]): FoundCommand {
  const alias = findAlias(given);
  const word = alias?.command ?? given;
  const entry = VERBS.find((verb) => verb.name === word);
  return { entry, word, argv: alias === undefined ? argv : toOwnArguments(alias, argv) };
}
