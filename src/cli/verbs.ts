// The verbs, each loaded on first use.

import type { Argument } from '../commands/index.js';
import { ALIASES, findAlias, toOwnArguments } from './aliases.js';
import type { Verb } from './verb.js';

type Load = () => Promise<Verb>;

export interface VerbEntry {
  readonly name: string;
  readonly load: Load;
  /** Other jobs of the verb, each with flags of its own, by the flag that chooses it: `wield list --outdated`. */
  readonly modes: Readonly<Record<string, Load>>;
}

const LOADERS: Readonly<Record<string, Load>> = {
  init: async () => (await import('./verbs/init.js')).init,
  new: async () => (await import('./verbs/new.js')).newTool,
  remove: async () => (await import('./verbs/remove.js')).remove,
  check: async () => (await import('./verbs/check.js')).check,
  list: async () => (await import('./verbs/list.js')).list,
  show: async () => (await import('./verbs/show.js')).show,
  search: async () => (await import('./verbs/search.js')).search,
  call: async () => (await import('./verbs/call.js')).call,
  run: async () => (await import('./verbs/run.js')).run,
  record: async () => (await import('./verbs/record.js')).record,
  replay: async () => (await import('./verbs/replay.js')).replay,
  diff: async () => (await import('./verbs/diff.js')).diff,
  serve: async () => (await import('./verbs/serve.js')).serve,
  worker: async () => (await import('./verbs/worker.js')).worker,
  fleet: async () => (await import('./verbs/fleet.js')).fleet,
  connect: async () => (await import('./verbs/connect.js')).connect,
  mcp: async () => (await import('./verbs/mcp.js')).mcp,
  completions: async () => (await import('./verbs/completions.js')).completions,
  ui: async () => (await import('./verbs/ui.js')).ui,
  trust: async () => (await import('./verbs/trust.js')).trust,
  approvals: async () => (await import('./verbs/approvals.js')).approvals,
  explain: async () => (await import('./verbs/explain.js')).explain,
  audit: async () => (await import('./verbs/audit.js')).audit,
  config: async () => (await import('./verbs/config.js')).config,
  doctor: async () => (await import('./verbs/doctor.js')).doctor,
  version: async () => (await import('./verbs/version.js')).version,
  add: async () => (await import('./verbs/add.js')).add,
  install: async () => (await import('./verbs/install.js')).install,
  uninstall: async () => (await import('./verbs/uninstall.js')).uninstall,
  upgrade: async () => (await import('./verbs/upgrade.js')).upgrade,
  hooks: async () => (await import('./verbs/hooks.js')).hooks,
};

const MODES: Readonly<Record<string, VerbEntry['modes']>> = {
  init: {
    index: async () => (await import('./verbs/write-index.js')).writeIndex,
    capabilities: async () => (await import('./verbs/capabilities.js')).capabilities,
  },
  remove: { source: async () => (await import('./verbs/uninstall.js')).removeSource },
  check: { installed: async () => (await import('./verbs/verify.js')).verify },
  list: {
    outdated: async () => (await import('./verbs/list-installed.js')).outdated,
    manifest: async () => (await import('./verbs/list-installed.js')).exportInstalled,
    tokens: async () => (await import('./verbs/tokens.js')).tokens,
  },
  show: { source: async () => (await import('./verbs/show.js')).showSource },
  doctor: { clean: async () => (await import('./verbs/clean.js')).clean },
  add: { import: async () => (await import('./verbs/import.js')).importSystem },
  install: { adopt: async () => (await import('./verbs/adopt.js')).adopt },
  upgrade: { 'fetch-only': async () => (await import('./verbs/upgrade.js')).sync },
};

export const VERBS: readonly VerbEntry[] = Object.entries(LOADERS).map(([name, load]) => ({
  name,
  load,
  modes: MODES[name] ?? {},
}));

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
  readonly entry: VerbEntry | undefined;
  /** The word of wield. */
  readonly word: string;
  /** Returns the arguments of that word. */
  toArguments(argv: readonly string[]): readonly string[];
}

/** The entry of a word that is the command of a tool. */
export const toolEntry = (word: string): FoundCommand => ({ entry: undefined, word, toArguments: (argv) => argv });

/** Finds a command by its name or an alias. */
export function findCommandEntry(given: string): FoundCommand {
  const alias = findAlias(given);
  const word = alias?.command ?? given;
  return {
    entry: VERBS.find((verb) => verb.name === word),
    word,
    toArguments: (argv) => (alias === undefined ? argv : toOwnArguments(alias, argv)),
  };
}
