// Fetches, syncs and removes sources. Their items are upgraded and removed separately.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { readTextFile } from '../../files/read.js';
import type { Hook, InstallEnvironment } from '../environment.js';
import { approveHooks, runHook, toHook } from '../hooks.js';
import type { Pin, SourceManifest } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord, saveSources } from '../state.js';
import { clonePaths, exportTree, removeUnusedClones, treeOf } from './clones.js';
import { fetchCommit } from './fetch-commit.js';
import { loadManifest, MANIFEST_FILES } from './load-manifest.js';
import { hideUser } from './location.js';
import { type Scan, scanSource } from './scan.js';

export interface FetchedSource {
  readonly record: SourceRecord;
  readonly scan: Scan;
}

/** Returns the updated record; the caller saves it. Install hooks run again if the commit changed. */
export async function fetchSource(
  wanted: SourceRecord,
  before: SourceRecord | undefined,
  environment: InstallEnvironment,
): Promise<FetchedSource> {
  const { paths, report } = environment;
  let record = wanted;
  const fetch = async (pin: Pin | null): Promise<void> => {
    report({ kind: 'progress', text: `fetching ${hideUser(wanted.location)}` });
    const { git } = clonePaths(paths, wanted.directory!, null);
    const fetched = await fetchCommit(environment, wanted.location, pin, git);
    const { tree } = clonePaths(paths, wanted.directory!, fetched.commit);
    record = { ...record, ...fetched };
    if (!existsSync(`${tree}.files`)) await exportTree(environment, git, fetched.commit, tree);
  };
  const scanRecord = (): Scan => scanSource(treeOf(record, paths), record.roots);
  const isGit = wanted.kind === 'git';
  if (isGit) await fetch(wanted.pin);
  let scan = scanRecord();
  const { pin } = scan.manifest;
  if (isGit && !wanted.pinGiven && pin !== null && JSON.stringify(pin) !== JSON.stringify(wanted.pin)) {
    await fetch(pin);
    scan = scanRecord();
  }
  assertVersion(scan.manifest, record, environment);
  const hooks =
    isGit && before?.commit === record.commit && before?.hooks === 'ran'
      ? before.hooks
      : await runSourceHooks('install', record, scan.manifest, environment);
  return { record: { ...record, hooks }, scan };
}

function assertVersion(
  { minVersion }: SourceManifest,
  { id }: SourceRecord,
  { version }: InstallEnvironment,
): void {
  if (minVersion === null) return;
  const parts = (text: string): number[] => text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [wanted, own] = [parts(minVersion), parts(version)];
  const at = wanted.findIndex((part, index) => part !== (own[index] ?? 0));
  if (at === -1 || wanted[at]! < (own[at] ?? 0)) return;
  throw new ToolError(
    'unavailable',
    `${id} requires wield ${quoteOutside(minVersion, 20)}, and this is ${version}`,
    { hint: 'update wield' },
  );
}

/** Runs the approved hooks in the directory of the source (HOOK-1). */
export async function runSourceHooks(
  event: 'install' | 'uninstall',
  record: SourceRecord,
  manifest: SourceManifest,
  environment: InstallEnvironment,
): Promise<SourceRecord['hooks']> {
  const tree = treeOf(record, environment.paths);
  const hooks = manifest.hooks
    .filter((hook) => hook.event === event)
    .map(({ run }) => toSourceHook(event, run, record, tree));
  if (hooks.length === 0) return 'none';
  const approved = await approveHooks(hooks, environment);
  for (const hook of hooks) if (approved.has(hook.digest)) await runHook(hook, tree, environment);
  return hooks.every(({ digest }) => approved.has(digest)) ? 'ran' : 'skipped';
}

function toSourceHook(event: Hook['event'], run: string, record: SourceRecord, tree: string): Hook {
  const { id, commit, location } = record;
  // A commit covers every byte of the tree. A local directory changes as its owner works on it, so an approval is
  // tied to the manifest only.
  const bytes = commit ?? MANIFEST_FILES.map((file) => readTextFile(join(tree, file)) ?? '').join('\n');
  return toHook({ source: id, commit, item: null, kind: null, event, run, where: tree }, location, bytes);
}

/** Saves the registered sources, and removes clones that they do not use. */
export function saveAll(records: readonly SourceRecord[], { paths }: InstallEnvironment): void {
  if (records.length > 0) saveSources(paths, records);
  else rmSync(paths.sourcesFile, { force: true });
  removeUnusedClones(paths, records);
}

export interface SyncedSource extends FetchedSource {
  /** The commit before. */
  readonly before: string | null;
}

/** Fetches the commit that the pin leads to now. Throws `integrity` if a tag moved, unless `accept` is set (A32). */
export async function syncSource(
  record: SourceRecord,
  accept: boolean,
  environment: InstallEnvironment,
): Promise<SyncedSource> {
  const { paths } = environment;
  const { record: now, scan } = await fetchSource(record, record, environment);
  if (record.pin?.to === 'tag' && !accept && record.commit !== now.commit) {
    removeUnusedClones(paths, loadSources(paths));
    throw new ToolError(
      'integrity',
      `the tag ${quoteOutside(record.pin.name, 80)} of ${record.id} moved from ${record.commit?.slice(0, 12)} to ${now.commit?.slice(0, 12)}`,
      { hint: `find out why; wield sync ${record.id} --accept accepts the new commit` },
    );
  }
  const records = loadSources(paths).map((one) => (one.id === now.id ? now : one));
  saveAll(records, environment);
  return { record: now, before: record.commit, scan };
}

/** Runs the uninstall hooks of a source and unregisters it. Its items must be uninstalled before. */
export async function dropSource(record: SourceRecord, environment: InstallEnvironment): Promise<void> {
  const { paths } = environment;
  const tree = treeOf(record, paths);
  if (existsSync(tree)) await runSourceHooks('uninstall', record, loadManifest(tree).manifest, environment);
  const records = loadSources(paths).filter(({ id }) => id !== record.id);
  saveAll(records, environment);
}
