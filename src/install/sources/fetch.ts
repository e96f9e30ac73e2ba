// Fetches, syncs and removes sources. Their items are upgraded and removed separately.

import { existsSync } from 'node:fs';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { removeFile } from '../../files/remove.js';
import { hashTree, listTree } from '../../files/tree.js';
import type { InstallEnvironment } from '../environment.js';
import { approveHooks, changedError, runHook, toHook } from '../hooks.js';
import type { Pin, SourceManifest } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord, saveSources } from '../state.js';
import { assertSourceAllowed } from './allowed.js';
import { clonePaths, copySource, exportTree, removeUnusedClones, treeOf } from './clones.js';
import { fetchBundle } from './fetch-bundle.js';
import { type FetchedCommit, fetchCommit } from './fetch-commit.js';
import { scanRecord } from './load.js';
import { loadManifest } from './load-manifest.js';
import type { Scan } from './scan.js';

export interface FetchOptions {
  /** Accepts a tag that moved. */
  readonly accept?: boolean;
  /** A copy of the repository to fetch from, in place of its location. */
  readonly from?: string | undefined;
  /** Sources that were fetched and are not saved yet; their clones stay if this one fails. */
  readonly unsaved?: readonly SourceRecord[];
}

export interface FetchedSource {
  readonly record: SourceRecord;
  readonly scan: Scan;
}

/**
 * Returns the updated record; the caller saves it. Throws `integrity` if a tag moved, unless `accept` is set, before
 * anything of the new commit is used (A32). Install hooks run again if the bytes of the source changed.
 */
export async function fetchSource(
  wanted: SourceRecord,
  before: SourceRecord | undefined,
  environment: InstallEnvironment,
  options: FetchOptions = {},
): Promise<FetchedSource> {
  try {
    return await fetchNow(wanted, before, environment, options);
  } catch (error) {
    const { unsaved = [] } = options;
    removeUnusedClones(environment.paths, [...loadSources(environment.paths), ...unsaved]);
    throw error;
  }
}

async function fetchNow(
  wanted: SourceRecord,
  before: SourceRecord | undefined,
  environment: InstallEnvironment,
  { accept = false, from }: FetchOptions,
): Promise<FetchedSource> {
  const { paths, allowedSources } = environment;
  assertSourceAllowed(wanted, environment);
  // A copy can have other contents than the address that is allowed.
  const place = allowedSources.length === 0 ? from : undefined;
  const label = `${before === undefined ? 'cloning' : 'fetching'} ${wanted.id}`;
  let record = wanted;
  const fetch = async (pin: Pin | null): Promise<void> => {
    const { git } = clonePaths(paths, wanted.directory!, null);
    const fetched = await fetchCommit(environment, { url: place ?? wanted.location, pin, gitDirectory: git, label });
    if (before !== undefined && !accept) assertUnmoved(before, fetched);
    const { tree } = clonePaths(paths, wanted.directory!, fetched.commit);
    record = { ...record, ...fetched };
    if (!existsSync(`${tree}.files`)) await exportTree(environment, git, fetched.commit, tree);
  };
  const scanTree = (): Scan => scanRecord(record, treeOf(record, paths));
  const isGit = wanted.kind === 'git';
  if (isGit) await fetch(wanted.pin);
  else if (wanted.kind === 'bundle') record = { ...wanted, ...(await fetchBundle(wanted, wanted.pin, environment)) };
  else record = { ...wanted, snapshot: null };
  let scan = scanTree();
  const { pin } = scan.manifest;
  if (isGit && !wanted.pinGiven && pin !== null && JSON.stringify(pin) !== JSON.stringify(wanted.pin)) {
    await fetch(pin);
    scan = scanTree();
  }
  assertVersion(scan.manifest, record, environment);
  if (isGit && before?.commit === record.commit && before?.hooks === 'ran')
    return { record: { ...record, hooks: 'ran' }, scan };
  return { record: await runSourceHooks('install', record, before, scan.manifest, environment), scan };
}

function assertUnmoved({ id, pin, commit }: SourceRecord, fetched: FetchedCommit): void {
  if (pin?.to !== 'tag' || pin.name !== fetched.pin?.name || commit === fetched.commit) return;
  throw new ToolError(
    'integrity',
    `the tag ${quoteOutside(pin.name, 80)} of ${id} moved from ${commit?.slice(0, 12)} to ${fetched.commit.slice(0, 12)}`,
    { hint: `find out why; wield upgrade --fetch-only ${id} --accept accepts the new commit` },
  );
}

function assertVersion({ minVersion }: SourceManifest, { id }: SourceRecord, { version }: InstallEnvironment): void {
  if (minVersion === null) return;
  const parts = (text: string): number[] => text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [wanted, own] = [parts(minVersion), parts(version)];
  const at = wanted.findIndex((part, index) => part !== (own[index] ?? 0));
  if (at === -1 || wanted[at]! < (own[at] ?? 0)) return;
  throw new ToolError('unavailable', `${id} requires wield ${quoteOutside(minVersion, 20)}, and this is ${version}`, {
    hint: 'update wield',
  });
}

/**
 * Runs the approved hooks in a private directory with exactly the approved bytes: the exported commit, or a copy of a
 * local directory, from which its items are then read (HOOK-1, HOOK-6).
 */
async function runSourceHooks(
  event: 'install' | 'uninstall',
  record: SourceRecord,
  before: SourceRecord | undefined,
  manifest: SourceManifest,
  environment: InstallEnvironment,
): Promise<SourceRecord> {
  const commands = manifest.hooks.filter((hook) => hook.event === event);
  if (commands.length === 0) return { ...record, hooks: 'none' };
  const { paths } = environment;
  const { id, commit, location } = record;
  const origin = treeOf(record, paths);
  const files = listTree(origin, { links: 'keep' });
  let bytes = hashTree(origin, files);
  const copied = origin === location;
  const kept = { ...record, snapshot: bytes };
  if (copied && before?.hooks === 'ran' && before.snapshot === bytes && existsSync(treeOf(kept, paths)))
    return { ...kept, hooks: 'ran' };
  const facts = { source: id, commit, item: null, kind: null, event, where: origin };
  const hooks = commands.map(({ run }) => toHook({ ...facts, run }, location, bytes));
  const approved = await approveHooks(hooks, environment);
  const runnable = hooks.filter(({ digest }) => approved.has(digest));
  if (runnable.length === 0) return { ...record, hooks: 'skipped' };
  const tree = treeOf(copied ? kept : record, paths);
  if (copied) copySource(origin, files, tree);
  for (const hook of runnable) {
    if (hashTree(tree, listTree(tree, { links: 'keep' })) !== bytes) throw changedError(id);
    await runHook(hook, tree, environment);
    bytes = hashTree(tree, listTree(tree, { links: 'keep' }));
  }
  const hooksState = runnable.length === hooks.length ? 'ran' : 'skipped';
  return { ...(copied ? kept : record), hooks: hooksState };
}

/** Saves the registered sources, and removes clones that neither they nor `also` use. */
export function saveAll(
  records: readonly SourceRecord[],
  { paths }: InstallEnvironment,
  also: readonly { readonly record: SourceRecord }[] = [],
): void {
  if (records.length > 0) saveSources(paths, records);
  else removeFile(paths.sourcesFile);
  removeUnusedClones(paths, [...records, ...also.map(({ record }) => record)]);
}

export interface SyncedSource extends FetchedSource {
  /** The commit before. */
  readonly before: string | null;
}

/** Fetches the commit that the pin leads to now. */
export async function syncSource(
  record: SourceRecord,
  accept: boolean,
  environment: InstallEnvironment,
): Promise<SyncedSource> {
  const { record: now, scan } = await fetchSource(record, record, environment, { accept });
  const records = loadSources(environment.paths).map((one) => (one.id === now.id ? now : one));
  saveAll(records, environment);
  return { record: now, before: record.commit, scan };
}

/** Runs the uninstall hooks of a source and unregisters it. Its items must be uninstalled before. */
export async function dropSource(record: SourceRecord, environment: InstallEnvironment): Promise<void> {
  const { paths } = environment;
  const tree = treeOf(record, paths);
  if (existsSync(tree) && record.kind !== 'bundle')
    await runSourceHooks('uninstall', record, undefined, loadManifest(tree, record.adoption).manifest, environment);
  const records = loadSources(paths).filter(({ id }) => id !== record.id);
  saveAll(records, environment);
}
