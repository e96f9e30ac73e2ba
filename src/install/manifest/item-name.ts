// Names of installable items: kinds, identity, and validation of names, namespaces and paths.

/** The kinds that a source declares, or has a usual directory for, in listing order. */
export const SOURCE_KINDS = ['tool', 'skill', 'agent', 'rule'] as const;

/** All kinds of items. Plugins also have servers and commands; `plugin` is the directory that these refer to. */
export const ITEM_KINDS = [...SOURCE_KINDS, 'server', 'command', 'plugin'] as const;

export type ItemKind = (typeof ITEM_KINDS)[number];
export type SourceKind = (typeof SOURCE_KINDS)[number];

const MAX_NAME = 128;

export function isItemKind(value: unknown): value is ItemKind {
  return ITEM_KINDS.some((kind) => kind === value);
}

export function isSourceKind(value: unknown): value is SourceKind {
  return SOURCE_KINDS.some((kind) => kind === value);
}

/** Whether items of a kind are installed only if they are named, or another item needs them (INS-61). */
export function isByName(kind: ItemKind): boolean {
  return kind === 'command' || kind === 'plugin';
}

export interface ItemIdentity {
  readonly source: string;
  readonly kind: ItemKind;
  readonly name: string;
  /** The plugin that it belongs to. */
  readonly plugin?: string | null | undefined;
}

/** Returns the identity of an item: the id of its source, its plugin, its kind and its bare name. */
export function itemKey({ source, kind, name, plugin = null }: ItemIdentity): string {
  return `${source}\n${kind}\n${effectiveName(plugin, name)}`;
}

/** Returns the name an item is installed under: `<prefix>:<name>`, or the bare name without a prefix. */
export function effectiveName(prefix: string | null, name: string): string {
  return prefix === null ? name : `${prefix}:${name}`;
}

/** Returns why an item name is invalid, or undefined if it is valid (INS-5). */
export function findNameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > MAX_NAME) return `is longer than ${MAX_NAME} characters`;
  if (name !== name.normalize('NFC')) return 'is not in Unicode normal form NFC';
  if (!hasNameCharacters(name) || /[ .]$/.test(name)) return 'contains characters that are not allowed';
  // A36: full-width letters, ligatures and others that are variants of plain ones.
  if (name !== name.normalize('NFKC')) return 'contains letters that only look like others';
  if (/\p{Script=Latin}/u.test(name) && hasLatinLookalikes(name)) return 'mixes scripts with similar letters';
  return undefined;
}

// Functions, because compiling a pattern of Unicode classes at start-up takes a millisecond.
function hasNameCharacters(name: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{M}\p{N} ._+@-]*$/u.test(name);
}

// A36: a name of Latin letters and lookalikes imitates another name.
function hasLatinLookalikes(name: string): boolean {
  return /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u.test(name);
}

const NAMESPACE = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;
// Prefixes that have another meaning in a reference.
const RESERVED: readonly string[] = [...ITEM_KINDS, 'file', 'mcp', 'inline'];
const NOT_RESERVED = `(?!(?:${RESERVED.join('|')})$)`;
const PLUGIN_NAME = /^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;
/** The names without a fault, as patterns of JSON Schema. */
export const NAMESPACE_PATTERN = `^${NOT_RESERVED}${NAMESPACE.source.slice(1)}`;
export const PLUGIN_PATTERN = `^${NOT_RESERVED}${PLUGIN_NAME.source.slice(1)}`;

/** Returns why a namespace is invalid. It is part of tool names, so the rules are stricter than for item names. */
export function findNamespaceFault(name: string): string | undefined {
  if (RESERVED.includes(name)) return 'is reserved';
  return NAMESPACE.test(name) ? undefined : 'contains characters that are not allowed';
}

/** Returns why the name of a plugin cannot be the prefix of its items. */
export function findPluginNameFault(name: string): string | undefined {
  if (RESERVED.includes(name)) return 'is reserved';
  return PLUGIN_NAME.test(name) ? undefined : 'contains characters that are not allowed';
}

// Files that agents read as configuration or instructions, in lower case.
const RESERVED_FILES = ['claude.md', 'claude.local.md', 'agents.md', 'gemini.md', 'memory.md', 'readme.md'];

/** Whether a file has the name of one that agents read as configuration or instructions. */
export function isReservedFile(file: string): boolean {
  return RESERVED_FILES.includes(file.toLowerCase());
}

/** An agent, a rule or a command is a Markdown file; everything else is a directory. */
export function isDirectoryKind(kind: ItemKind): boolean {
  return kind !== 'agent' && kind !== 'rule' && kind !== 'command';
}

/**
 * Returns the default path of an item's link in an agent home; null for a tool, a server and a plugin, which have none
 * (INS-34, INS-21). An agent is linked by its own name, because agents are called by it.
 */
export function linkPath(
  { kind, ownName }: { readonly kind: ItemKind; readonly ownName: string },
  effective: string,
): string | null {
  if (kind === 'tool' || kind === 'server' || kind === 'plugin') return null;
  const name = kind === 'agent' ? ownName : toLinkName(kind, effective);
  return `${kind}s/${name}${isDirectoryKind(kind) ? '' : '.md'}`;
}

/** Returns the name of an item in an agent home: the format of skills has no colon in names (INS-81). */
export function toLinkName(kind: ItemKind, effective: string): string {
  return kind === 'skill' ? effective.replace(':', '-') : effective;
}

/**
 * Returns why an item of a kind must not be linked at a path in an agent home. A link is directly in the directory of
 * its kind, so that it can neither replace a configuration file nor lead into another item (INS-37).
 */
export function findLinkFault(kind: ItemKind, link: string): string | undefined {
  const [directory, file = '', ...rest] = link.split('/');
  const name = isDirectoryKind(kind) ? file : file.replace(/\.md$/, '');
  const wellFormed =
    directory === `${kind}s` &&
    rest.length === 0 &&
    findNameFault(name) === undefined &&
    (isDirectoryKind(kind) ? !/\.(?:json|jsonc|toml|ya?ml|md)$/i.test(name) : name !== file);
  if (!wellFormed) return `is not ${kind}s/NAME${isDirectoryKind(kind) ? '' : '.md'}`;
  return isReservedFile(file) ? 'is not allowed: the name is reserved' : undefined;
}

/** Whether a relative path has no `..` and is not absolute. Links are checked separately. */
export function isSafePath(path: string): boolean {
  return (
    !/[\0-\x1f\x7f\\]/.test(path) && !path.startsWith('/') && !path.startsWith('~') && !path.split('/').includes('..')
  );
}
