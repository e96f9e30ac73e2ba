// Other words for commands: earlier ones of wield, and those of other systems. They are not in the main help.

export interface Alias {
  readonly word: string;
  /** A verb, or a command of a tool. */
  readonly command: string;
  /** Arguments that come first. */
  readonly arguments?: readonly string[];
  /** A tool with this name comes first: an ordinary word that tools are named by too. */
  readonly yields?: true;
  /** Other spellings of flags: `as` for `namespace`; one without a meaning here is empty. */
  readonly flags?: Readonly<Record<string, string>>;
}

const HOOK_FLAGS = {
  'dangerously-skip-install-hook-check': 'run-hooks',
  'dangerously-skip-build-hook-check': 'run-hooks',
  'dangerously-skip-hook-check': 'run-hooks',
};
const MELD_FLAGS = { ...HOOK_FLAGS, as: 'namespace', 'link-only': 'register-only', 'flat-skills': '' };
const UPGRADE_FLAGS = { ...HOOK_FLAGS, 'no-sync': 'offline' };

const OWN: readonly Alias[] = [
  { word: 'adopt', command: 'install', arguments: ['--adopt'] },
  { word: 'background', command: 'list', arguments: ['--background'], yields: true },
  { word: 'capabilities', command: 'init', arguments: ['--capabilities'] },
  { word: 'clean', command: 'doctor', arguments: ['--clean'] },
  { word: 'export', command: 'list', arguments: ['--manifest'] },
  { word: 'import', command: 'add', arguments: ['--import'] },
  { word: 'index', command: 'init', arguments: ['--index'] },
  { word: 'outdated', command: 'list', arguments: ['--outdated'] },
  { word: 'remove-source', command: 'remove', arguments: ['--source'] },
  { word: 'show-source', command: 'show', arguments: ['--source'] },
  { word: 'sync', command: 'upgrade', arguments: ['--fetch-only'] },
  { word: 'tokens', command: 'list', arguments: ['--tokens'] },
  { word: 'verify', command: 'check', arguments: ['--installed'] },
];

// docs/coming-from/mind.md
const MIND: readonly Alias[] = [
  { word: 'meld', command: 'add', flags: MELD_FLAGS },
  { word: 'unmeld', command: 'remove', arguments: ['--source'], flags: HOOK_FLAGS },
  // A source is removed if no tool has its name.
  { word: 'remove', command: 'remove', flags: HOOK_FLAGS },
  { word: 'rm', command: 'remove', arguments: ['--source'], yields: true, flags: HOOK_FLAGS },
  { word: 'learn', command: 'install', flags: HOOK_FLAGS },
  { word: 'forget', command: 'uninstall', flags: HOOK_FLAGS },
  { word: 'unlearn', command: 'uninstall', flags: HOOK_FLAGS },
  { word: 'update', command: 'upgrade', arguments: ['--fetch-only'], yields: true, flags: HOOK_FLAGS },
  { word: 'evolve', command: 'upgrade', flags: UPGRADE_FLAGS },
  { word: 'recall', command: 'list', arguments: ['--installed'] },
  { word: 'status', command: 'list', yields: true, arguments: ['--installed'] },
  { word: 'probe', command: 'search', flags: { 'no-tui': '' } },
  // The same words, with flags of mind.
  { word: 'upgrade', command: 'upgrade', flags: UPGRADE_FLAGS },
  { word: 'hooks', command: 'hooks', flags: { ...HOOK_FLAGS, force: '', rerun: '' } },
  { word: 'absorb', command: 'install', arguments: ['--adopt'] },
  { word: 'dump', command: 'list', arguments: ['--manifest'], yields: true },
  { word: 'init-source', command: 'init', arguments: ['--source'] },
  { word: 'link-project', command: 'config', arguments: ['homes', 'add', '--preset', 'windsurf'] },
  { word: 'introspect', command: 'doctor' },
  { word: 'review', command: 'check' },
];

// docs/coming-from/botholomew.md
const BOTHOLOMEW: readonly Alias[] = [{ word: 'membot', command: 'context', yields: true }];

export const ALIASES: readonly Alias[] = [...OWN, ...MIND, ...BOTHOLOMEW];

/** Returns the entry of a word; undefined for any other word. */
export function findAlias(word: string): Alias | undefined {
  return ALIASES.find((one) => one.word === word);
}

export function toOwnArguments({ arguments: first = [], flags = {} }: Alias, argv: readonly string[]) {
  const end = argv.indexOf('--');
  const rename = (raw: string, at: number): readonly string[] => {
    const name = /^--([^=]+)/.exec(raw)?.[1];
    if (name === undefined || (end !== -1 && at > end) || !Object.hasOwn(flags, name)) return [raw];
    return flags[name] === '' ? [] : [`--${flags[name]}${raw.slice(2 + name.length)}`];
  };
  return [...first, ...argv.flatMap(rename)];
}
