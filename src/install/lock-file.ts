// `wield.lock`: the sources and hashes of everything that is installed, in a form that another machine can reproduce.

import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isToolError, ToolError } from '../core/error.js';
import {
  boolean,
  checked,
  custom,
  formatFault,
  type Infer,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  readShape,
  type Shape,
  string,
  table,
  text,
  when,
  withKey,
} from '../core/shape.js';
import { compareText } from '../core/text.js';
import { directoriesInHome } from '../files/home.js';
import { readTextFile } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { isWithin, realPath } from '../files/within.js';
import { writeFileAtomic } from '../files/write.js';
import { isOccupied } from './directory.js';
import type { InstallPaths } from './environment.js';
import {
  findNamespaceFault,
  findPluginNameFault,
  ITEM_KINDS,
  isSafePath,
  itemKey,
  NAMESPACE_PATTERN,
  PLUGIN_PATTERN,
} from './manifest/item-name.js';
import { isWebLocation, parseLocation } from './sources/location.js';
import { type InstalledItem, loadInstalled, loadSources, parseState, type SourceRecord, withParents } from './state.js';

/** `installedHash` is that of the files before a build, wherever the store is. */
export interface LockedItem
  extends Pick<InstalledItem, 'kind' | 'name' | 'effective' | 'commit' | 'sourceHash' | 'installedHash'> {
  readonly plugin: string | null;
  /** After build and install hooks; null without any. */
  readonly builtHash: string | null;
}

/** What a source needs to be registered again. */
export interface LockedSource extends Omit<SourceRecord, 'directory' | 'ref' | 'snapshot' | 'since'> {
  readonly items: readonly LockedItem[];
}

/** A pinned server (UPS-123). */
export type LockedServer = Infer<typeof SERVER>;

const VERSION = 1;
const MAX_BYTES = 64 * 1024 * 1024;
export const LOCK_NAME = 'wield.lock';

/** Returns the lock of `WIELD_HOME`, which is always current. */
export function ownLock({ store }: InstallPaths): string {
  return join(dirname(store), LOCK_NAME);
}

/** Writes the lock of what is installed now; removes it with the last item. Only a change is written. */
export function writeLock(paths: InstallPaths, file: string): void {
  const sources = toLocked(file, loadInstalled(paths).items, loadSources(paths));
  save(file, sources.every(({ items }) => items.length === 0) ? [] : sources, readLockedServers(file));
}

/** Changes the servers of a lock, and creates it with the first one. */
export function changeLockedServers(
  file: string,
  change: (servers: readonly LockedServer[]) => readonly LockedServer[],
): void {
  const { sources = [] } = readDocument(file);
  const servers = [...change(readLockedServers(file))].sort((a, b) => compareText(a.name, b.name));
  save(file, sources as readonly LockedSource[], servers);
}

/** Returns the pinned servers of a lock; none if it does not exist or is not valid. */
export function readLockedServers(file: string): readonly LockedServer[] {
  return readShape(LOCK, readDocument(file)).value?.servers ?? [];
}

// Empty if there is no such file.
function readDocument(file: string): Record<string, unknown> {
  const text = existsSync(file) ? readTextFile(file, MAX_BYTES) : undefined;
  return text === undefined ? {} : parseState(text, file);
}

function save(file: string, sources: readonly LockedSource[], servers: readonly LockedServer[]): void {
  if (sources.length + servers.length === 0) {
    removeFile(file);
    return;
  }
  const text = format(sources, servers);
  if (!existsSync(file) || readTextFile(file, MAX_BYTES) !== text) writeFileAtomic(file, text, { mode: 0o644 });
}

/** Reads a lock. Throws `not_found`, or `io` if it is not valid. */
export function readLock(file: string): readonly LockedSource[] {
  // The lock of a project is part of its checkout.
  const text = readTextFile(file, MAX_BYTES, { isState: directoriesInHome(file) !== undefined });
  if (text === undefined)
    throw new ToolError('not_found', `${LOCK_NAME} not found: ${file}`, { hint: 'installing something writes it' });
  const { faults, value } = readShape(LOCK, parseState(text, file));
  if (faults.length > 0)
    throw new ToolError('io', `${file} is not a valid lock: ${formatFault(faults[0]!)}`, {
      hint: 'restore it from version control',
    });
  return (value!.sources as readonly LockedSource[]).map((source) =>
    isOnDisk(source) ? { ...source, location: resolve(dirname(file), source.location) } : source,
  );
}

/** Returns the items of a lock by their keys. */
export function lockedByKey(locked: readonly LockedSource[]): ReadonlyMap<string, LockedItem> {
  return new Map(
    locked.flatMap(({ id, items }) => items.map((item) => [itemKey({ ...item, source: id }), item] as const)),
  );
}

const valid = (expected: string, isValid: (text: string) => boolean, pattern: string): Shape<string> =>
  custom(expected, (value) => (typeof value === 'string' && isValid(value) ? value : undefined), {
    type: 'string',
    pattern,
  });
const maybe = <T>(shape: Shape<T>) => optional(nullable(shape));
const open = <const F extends Fields>(fields: F) => object(fields, { unknown: 'keep' });
type Fields = Readonly<Record<string, Shape<unknown>>>;

const NO_PARENT = '(?!(?:[\\s\\S]*/)?\\.\\.(?:/|$))';
const ID = valid(
  'an id',
  (id) => id !== '' && !/[\0-\x1f\x7f]/.test(id) && !id.split('/').includes('..'),
  `^${NO_PARENT}[^\\x00-\\x1f\\x7f]+$`,
);
const PATH = valid('a path inside the source', isSafePath, `^(?![/~])${NO_PARENT}[^\\x00-\\x1f\\x7f\\\\]*$`);
const PATHS = maybe(list(PATH));
const NAMESPACE = valid('a namespace', (name) => findNamespaceFault(name) === undefined, NAMESPACE_PATTERN);
const PLUGIN = valid('the name of a plugin', (name) => findPluginNameFault(name) === undefined, PLUGIN_PATTERN);
const COMMIT = maybe(text('a commit', /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/));
const FLAG = optional(boolean);
const HOOK = open({ run: string, name: maybe(string), event: oneOf('install', 'uninstall') });
const ENTRY = open({ name: PLUGIN, description: maybe(string), path: PATH, strict: FLAG, components: table });
const ADOPTION = open({
  roots: PATHS,
  addRoots: PATHS,
  hooks: optional(list(HOOK)),
  plugins: optional(list(ENTRY)),
});
const ITEM = open({
  kind: oneOf(...ITEM_KINDS),
  name: string,
  effective: string,
  sourceHash: string,
  installedHash: string,
  plugin: maybe(PLUGIN),
  commit: COMMIT,
});
const SOURCE = open({
  id: ID,
  kind: oneOf('git', 'local', 'bundle'),
  location: string,
  prefix: maybe(NAMESPACE),
  prefixGiven: FLAG,
  roots: PATHS,
  addRoots: PATHS,
  pin: maybe(open({ to: oneOf('branch', 'tag', 'commit', 'ref'), name: string })),
  pinGiven: FLAG,
  signers: optional(list(text('the key of a signer', /^[^\0-\x08\x0b-\x1f\x7f]{1,16384}$/))),
  signer: maybe(open({ key: string, name: nullable(string), of: oneOf('commit', 'tag') })),
  parent: maybe(ID),
  commit: COMMIT,
  adoption: maybe(ADOPTION),
  items: list(ITEM),
});
// Only what could have been added is fetched and read (A27).
const SOURCES = list(
  checked(
    SOURCE,
    ({ kind, location, commit }, fail) => {
      if (kind === 'git' && commit == null) fail(['commit'], 'is missing');
      if (kind === 'git' && !isRepository(location)) fail(['location'], 'must be a repository');
    },
    when({ properties: { kind: { const: 'git' } } }, withKey('commit')),
  ),
);
const SERVER = open({
  name: string,
  // Such as `npm:x`.
  package: string,
  // The range or tag that was asked for; null without one.
  wanted: nullable(string),
  version: string,
  integrity: string,
});
/** A whole file. */
export const LOCK = open({
  version: { ...number, toSchema: () => ({ type: 'number', maximum: VERSION }) },
  sources: SOURCES,
  servers: optional(list(SERVER)),
});

// Written by `add`, so it is the whole address of a repository.
function isRepository(location: string): boolean {
  try {
    const parsed = parseLocation(location, '/', undefined);
    return parsed.kind === 'git' && parsed.location === location;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return false;
  }
}

/** Returns the lock of a directory if it has one, else the one that is written. */
export function findLock(workdir: string | undefined, lockFile: string): string {
  const own = workdir === undefined ? undefined : join(workdir, LOCK_NAME);
  return own !== undefined && isOccupied(own) ? own : lockFile;
}

function toLocked(
  file: string,
  items: readonly InstalledItem[],
  records: readonly SourceRecord[],
): readonly LockedSource[] {
  const used = withParents(new Set(items.map(({ source }) => source)), records);
  const chosen = records.filter(({ id }) => used.has(id)).sort((a, b) => compareText(a.id, b.id));
  return chosen.map((record) => {
    const { id, kind, location, commit, prefix, prefixGiven, roots, addRoots = [], adoption = null } = record;
    const { pin, pinGiven, parent, hooks, signers, signer } = record;
    const own = items.filter(({ source }) => source === id).map(toLockedItem);
    own.sort((a, b) => compareText(a.kind, b.kind) || compareText(a.effective, b.effective));
    const origin = { id, kind, location: isOnDisk(record) ? relativeTo(dirname(file), location) : location, commit };
    const choices = { prefix, prefixGiven, roots, addRoots, adoption, pin, pinGiven };
    const signed = { ...(signers && { signers }), ...(signer && { signer }) };
    return { ...origin, ...choices, ...signed, parent, hooks, items: own };
  });
}

function isOnDisk({ kind, location }: Pick<SourceRecord, 'kind' | 'location'>): boolean {
  return kind === 'local' || (kind === 'bundle' && !isWebLocation(location));
}

// A directory next to the lock moves with it; any other one stays where it is.
function relativeTo(directory: string, location: string): string {
  const root = realPath(directory) ?? directory;
  return isWithin(root, location) ? relative(root, location) || '.' : location;
}

function toLockedItem(item: InstalledItem): LockedItem {
  const { kind, name, plugin, effective, commit, sourceHash, portable } = item;
  const { installed: installedHash, built: builtHash } = portable;
  return { kind, name, plugin, effective, commit, sourceHash, installedHash, builtHash };
}

// One line per item, so that a change is a line in a diff.
function format(sources: readonly LockedSource[], servers: readonly LockedServer[]): string {
  const blocks = sources.map(({ items, ...source }) => {
    const head = JSON.stringify(source, null, 2).slice(0, -2).replaceAll('\n', '\n    ');
    const lines = items.map((item) => `        ${JSON.stringify(item)}`).join(',\n');
    return `    ${head},\n      "items": [${lines === '' ? '' : `\n${lines}\n      `}]\n    }`;
  });
  const pinned = servers.map((server) => `    ${JSON.stringify(server)}`).join(',\n');
  const end = servers.length === 0 ? '' : `,\n  "servers": [\n${pinned}\n  ]`;
  const all = blocks.length === 0 ? '[]' : `[\n${blocks.join(',\n')}\n  ]`;
  return `{\n  "version": ${VERSION},\n  "sources": ${all}${end}\n}\n`;
}
