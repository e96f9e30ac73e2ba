// The verbs, each loaded on first use.

import { COMPATIBLE, findCompatible, toOwnArguments } from './compatibility.js';
import type { Verb } from './verb.js';

export interface VerbEntry {
  readonly name: string;
  readonly load: () => Promise<Verb>;
}

const LOADERS: Readonly<Record<string, VerbEntry['load']>> = {
  init: async () => (await import('./verbs/init.js')).init,
  new: async () => (await import('./verbs/new.js')).newTool,
  remove: async () => (await import('./verbs/remove.js')).remove,
  check: async () => (await import('./verbs/check.js')).check,
  index: async () => (await import('./verbs/write-index.js')).writeIndex,
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
  tokens: async () => (await import('./verbs/tokens.js')).tokens,
  mcp: async () => (await import('./verbs/mcp.js')).mcp,
  capabilities: async () => (await import('./verbs/capabilities.js')).capabilities,
  completions: async () => (await import('./verbs/completions.js')).completions,
  ui: async () => (await import('./verbs/ui.js')).ui,
  trust: async () => (await import('./verbs/trust.js')).trust,
  approvals: async () => (await import('./verbs/approvals.js')).approvals,
  explain: async () => (await import('./verbs/explain.js')).explain,
  audit: async () => (await import('./verbs/audit.js')).audit,
  config: async () => (await import('./verbs/config.js')).config,
  doctor: async () => (await import('./verbs/doctor.js')).doctor,
  clean: async () => (await import('./verbs/clean.js')).clean,
  version: async () => (await import('./verbs/version.js')).version,
  add: async () => (await import('./verbs/add.js')).add,
  install: async () => (await import('./verbs/install.js')).install,
  'show-source': async () => (await import('./verbs/show-source.js')).showSource,
  uninstall: async () => (await import('./verbs/uninstall.js')).uninstall,
  upgrade: async () => (await import('./verbs/upgrade.js')).upgrade,
  outdated: async () => (await import('./verbs/outdated.js')).outdated,
  sync: async () => (await import('./verbs/sync.js')).sync,
  adopt: async () => (await import('./verbs/adopt.js')).adopt,
  export: async () => (await import('./verbs/export.js')).exportInstalled,
  import: async () => (await import('./verbs/import.js')).importSystem,
  hooks: async () => (await import('./verbs/hooks.js')).hooks,
  verify: async () => (await import('./verbs/verify.js')).verify,
  'remove-source': async () => (await import('./verbs/uninstall.js')).removeSource,
};

export const VERBS: readonly VerbEntry[] = Object.entries(LOADERS).map(([name, load]) => ({ name, load }));

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
