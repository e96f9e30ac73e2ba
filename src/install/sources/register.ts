// The life of a source: added, fetched anew, removed. Its items come and go by `items.ts`.

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { withLock } from '../../files/lock.js';
import { readTextFile } from '../../files/read.js';
import { recover, toIoError } from '../apply/commit.js';
import { consentTo, type Hook, runHook, toHook } from '../apply/hooks.js';
import { removeEmpty } from '../apply/links.js';
import { type InstallContext, type Paths, pathsOf } from '../environment.js';
import { findNamespaceFault } from '../manifest/item-name.js';
import type { Pin, SourceManifest } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord, saveSources } from '../state.js';
import { clonePaths, exportTree, fetchCommit, showUrl } from './git.js';
import { cloneDirectory, type Location, parseLocation, treeOf, uniqueId } from './load.js';
import { loadManifest, type Scan, scanSource } from './scan.js';

export interface AddOptions {
  readonly source: string;
  readonly cwd: string;
  /** Undefined: the manifest's; empty: none. */
  readonly namespace?: string | undefined;
  readonly pin?: Pin | undefined;
  readonly roots: readonly string[];
}

export interface AddedSource {
  readonly record: SourceRecord;
  readonly scan: Scan;
  /** Whether it was registered before. */
  readonly known: boolean;
}

const MAX_NESTING = 8;

/** Does work on the state with nobody else at it, after what a killed process left is finished or undone. */
export async function working<T>(context: InstallContext, work: (paths: Paths) => Promise<T>): Promise<T> {
  const paths = pathsOf(context.wieldHome);
  try {
    return await withLock(paths.lock, { ...context, doing: 'installing' }, async () => {
      const outcome = recover(paths);
      if (outcome !== 'nothing')
        context.report({
          kind: 'note',
          text: `an interrupted change was ${outcome === 'undone' ? 'undone' : 'finished'}`,
        });
      removeStrays(paths, loadSources(paths));
      return work(paths);
    });
  } catch (error) {
    throw toIoError(error, paths, 'it could not be done');
  }
}

/** Registers a source and those that it names in turn; the first is the one that was asked for (INS-1). */
export async function addSource(
  options: AddOptions,
  context: InstallContext,
  paths: Paths,
): Promise<readonly AddedSource[]> {
  const added: AddedSource[] = [];
  const waiting: { options: AddOptions; parent: string | null; depth: number }[] = [
    { options, parent: null, depth: 0 },
  ];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { parent, depth } = next;
    const known = loadSources(paths);
    const location = parseLocation(next.options.source, next.options.cwd, context.world.home);
    // Sources may name each other in a circle.
    if (parent !== null && known.some((one) => one.location === location.location)) continue;
    const one = await addOne(next.options, location, parent, known, context, paths);
    added.push(one);
    for (const { source, namespace, pin } of depth < MAX_NESTING ? one.scan.manifest.sources : []) {
      const nested = { source, cwd: treeOf(one.record, paths), roots: [], ...(pin ? { pin } : {}) };
      assertNested(source, nested.cwd, one.record, context);
      waiting.push({
        options: { ...nested, ...(namespace === null ? {} : { namespace }) },
        parent: one.record.id,
        depth: depth + 1,
      });
    }
  }
  return added;
}

// What is fetched from elsewhere names no directory of this machine.
function assertNested(
  source: string,
  cwd: string,
  { kind, id }: SourceRecord,
  { world }: InstallContext,
): void {
  if (kind === 'local' || parseLocation(source, cwd, world.home).kind === 'git') return;
  throw new ToolError('path_escape', `${id} names a directory as a source: ${quoteOutside(source, 120)}`, {
    hint: 'a source that is fetched can name only others that are fetched',
  });
}

async function addOne(
  { namespace, pin, roots }: AddOptions,
  location: Location,
  parent: string | null,
  known: readonly SourceRecord[],
  context: InstallContext,
  paths: Paths,
): Promise<AddedSource> {
  if (namespace !== undefined && namespace !== '') {
    const fault = findNamespaceFault(namespace);
    if (fault !== undefined)
      throw new ToolError('usage', `the namespace "${quoteOutside(namespace, 60)}" ${fault}`, {
        hint: 'use letters, digits, _ and -',
      });
  }
  const before = known.find((one) => one.location === location.location);
  const directory = location.kind === 'git' ? cloneDirectory(location) : null;
  const blank: SourceRecord = {
    id: before?.id ?? uniqueId(location.name, known),
    kind: location.kind,
    location: location.location,
    directory,
    prefix: namespace === undefined ? (before?.prefix ?? null) : namespace === '' ? null : namespace,
    prefixGiven: namespace !== undefined || (before?.prefixGiven ?? false),
    roots: roots.length > 0 ? roots : (before?.roots ?? []),
    pin: pin ?? before?.pin ?? null,
    pinGiven: pin !== undefined || (before?.pinGiven ?? false),
    ref: null,
    commit: null,
    hooks: 'none',
    parent: before?.parent ?? parent,
    since: before?.since ?? new Date(context.world.now()).toISOString(),
  };
  if (pin !== undefined && location.kind === 'local')
    throw new ToolError('usage', 'a local directory is read as it is and cannot be pinned', {
      hint: 'leave --pin out, or add it as a repository: file:///path/to/repo',
    });
  const { record, scan } = await fetchSource(blank, before, context, paths).catch((error: unknown) => {
    removeStrays(paths, known);
    throw error;
  });
  saveSources(paths, [...known.filter((one) => one.id !== record.id), record]);
  removeStrays(paths, loadSources(paths));
  return { record, scan, known: before !== undefined };
}

/** Brings a source to where its pin leads now, hooks included; the registry is the caller's to write. */
async function fetchSource(
  wanted: SourceRecord,
  before: SourceRecord | undefined,
  context: InstallContext,
  paths: Paths,
): Promise<{ readonly record: SourceRecord; readonly scan: Scan }> {
  let record = wanted;
  const fetch = async (pin: Pin | null): Promise<void> => {
    context.report({ kind: 'progress', text: `fetching ${showUrl(wanted.location)}` });
    const { git } = clonePaths(paths.sources, wanted.directory!, null);
    const fetched = await fetchCommit(context, wanted.location, pin, git);
    const { tree } = clonePaths(paths.sources, wanted.directory!, fetched.commit);
    record = { ...record, ...fetched };
    if (!existsSync(`${tree}.files`)) await exportTree(context, git, fetched.commit, tree);
  };
  if (wanted.kind === 'git') await fetch(wanted.pin);
  let scan = scanSource(treeOf(record, paths), { roots: record.roots });
  const { pin } = scan.manifest;
  if (
    wanted.kind === 'git' &&
    !wanted.pinGiven &&
    pin !== null &&
    JSON.stringify(pin) !== JSON.stringify(wanted.pin)
  ) {
    await fetch(pin);
    scan = scanSource(treeOf(record, paths), { roots: record.roots });
  }
  assertVersion(scan.manifest, record, context);
  if (before?.commit !== record.commit || before?.hooks !== 'ran' || record.kind === 'local')
    record = { ...record, hooks: await runSourceHooks('install', record, scan.manifest, context, paths) };
  else record = { ...record, hooks: before.hooks };
  return { record, scan };
}

function assertVersion(
  { minVersion }: SourceManifest,
  { id }: SourceRecord,
  { version }: InstallContext,
): void {
  if (minVersion === null) return;
  const parts = (text: string): number[] => text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [wanted, own] = [parts(minVersion), parts(version)];
  const at = wanted.findIndex((part, index) => part !== (own[index] ?? 0));
  if (at === -1 || wanted[at]! < (own[at] ?? 0)) return;
  throw new ToolError(
    'unavailable',
    `${id} needs wield ${quoteOutside(minVersion, 20)}, and this is ${version}`,
    {
      hint: 'update wield',
    },
  );
}

// HOOK-1: what they leave in the working tree is copied with the items.
async function runSourceHooks(
  event: 'install' | 'uninstall',
  record: SourceRecord,
  manifest: SourceManifest,
  context: InstallContext,
  paths: Paths,
): Promise<SourceRecord['hooks']> {
  const tree = treeOf(record, paths);
  const hooks = manifest.hooks
    .filter((hook) => hook.event === event)
    .map(({ run }) => toSourceHook(event, run, record, tree));
  if (hooks.length === 0) return 'none';
  const approved = await consentTo(hooks, paths, context);
  for (const hook of hooks) if (approved.has(hook.digest)) await runHook(hook, tree, context);
  return hooks.every(({ digest }) => approved.has(digest)) ? 'ran' : 'skipped';
}

function toSourceHook(event: Hook['event'], run: string, record: SourceRecord, tree: string): Hook {
  const { id, commit, location } = record;
  // A commit names every byte of its tree; a directory is its owner's, and changes as they work on it.
  const manifest = ['wield.toml', 'mind.toml'].map((file) => readTextFile(join(tree, file)) ?? '').join('\n');
  return toHook(
    { source: id, commit, item: null, kind: null, event, run, where: tree },
    location,
    commit ?? manifest,
  );
}

export interface SyncedSource {
  readonly record: SourceRecord;
  readonly before: string | null;
  readonly scan: Scan;
}

/** Fetches what a source's pin leads to now. A tag that moved is refused: tags are there to stay (A32). */
export async function syncSource(
  record: SourceRecord,
  { accept, context, paths }: { accept: boolean; context: InstallContext; paths: Paths },
): Promise<SyncedSource> {
  const { record: now, scan } = await fetchSource(record, record, context, paths);
  if (record.pin?.to === 'tag' && !accept && record.commit !== now.commit) {
    removeStrays(paths, loadSources(paths));
    throw new ToolError(
      'integrity',
      `the tag ${quoteOutside(record.pin.name, 80)} of ${record.id} moved from ${record.commit?.slice(0, 12)} to ${now.commit?.slice(0, 12)}`,
      { hint: `find out why; wield sync ${record.id} --accept takes the new commit` },
    );
  }
  saveSources(
    paths,
    loadSources(paths).map((one) => (one.id === now.id ? now : one)),
  );
  removeStrays(paths, loadSources(paths));
  return { record: now, before: record.commit, scan };
}

/** Runs the uninstall hooks of a source and forgets it; its items must be gone. */
export async function dropSource(record: SourceRecord, context: InstallContext, paths: Paths): Promise<void> {
  const tree = treeOf(record, paths);
  if (existsSync(tree)) {
    await runSourceHooks('uninstall', record, loadManifest(tree).manifest, context, paths);
  }
  const left = loadSources(paths).filter(({ id }) => id !== record.id);
  if (left.length > 0) saveSources(paths, left);
  else rmSync(paths.sourcesFile, { force: true });
  removeStrays(paths, left);
}

// Clones and commits that no source uses: what a kill in the midst of a fetch left, and what was fetched before (F29).
function removeStrays({ sources }: Paths, records: readonly SourceRecord[]): void {
  const used = new Map(
    records.flatMap(({ directory, commit }) => (directory === null ? [] : [[directory, commit]])),
  );
  for (const name of namesIn(sources)) {
    const commit = used.get(name);
    if (!used.has(name)) rmSync(join(sources, name), { recursive: true, force: true });
    else
      for (const tree of namesIn(join(sources, name, 'trees')))
        if (tree !== commit && tree !== `${commit}.files`)
          rmSync(join(sources, name, 'trees', tree), { recursive: true, force: true });
  }
  removeEmpty([sources]);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
