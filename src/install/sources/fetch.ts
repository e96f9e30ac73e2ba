// Fetches, syncs and removes sources. Their items are upgraded and removed separately.

import { existsSync } from 'node:fs';
import { isToolError, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { removeFile } from '../../files/remove.js';
import { hashTree, listTree } from '../../files/tree.js';
import type { InstallEnvironment, Signer } from '../environment.js';
import { approveHooks, changedError, runHook, toHook } from '../hooks.js';
import type { Pin, SourceManifest } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord, saveSources } from '../state.js';
import { clonePaths, copySource, exportTree, isComplete, removeUnusedClones, treeOf } from './clones.js';
import { fetchBundle } from './fetch-bundle.js';
import { type FetchedCommit, fetchCommit } from './fetch-commit.js';
import { scanRecord } from './load.js';
import { loadManifest } from './load-manifest.js';
import { assertSourceAllowed } from './location.js';
import type { Scan } from './scan.js';
import { describeSigner, findSigner, needsSignature, unsigned } from './signature.js';

export interface FetchOptions {
  /** Accepts a tag that moved, and another signer. */
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
  if (wanted.kind === 'bundle' && needsSignature(wanted, environment)) throw unsigned(wanted);
  // A copy can have other contents than the address that is allowed.
  const place = allowedSources.length === 0 ? from : undefined;
  const label = `${before === undefined ? 'cloning' : 'fetching'} ${wanted.id}`;
  let record = wanted;
  const fetch = async (pin: Pin | null): Promise<void> => {
    const { git } = clonePaths(paths, wanted.directory!, null);
    const isSigned = needsSignature(wanted, environment);
    // A lock pins the commit that a tag led to.
    const tag = isSigned ? [pin, before?.pin].find((one) => one?.to === 'tag' || one?.to === 'ref')?.name : undefined;
    const url = place ?? wanted.location;
    const fetched = await fetchCommit(environment, { url, pin, gitDirectory: git, label, tag });
    if (before !== undefined && !accept) assertUnmoved(before, fetched);
    const signed = { gitDirectory: git, commit: fetched.commit, tag };
    const signer = isSigned ? await findSigner(wanted, signed, environment) : null;
    if (before?.signer != null && !accept) await assertSameSigner(before, wanted, signer, environment);
    record = { ...record, signer };
    const { tree } = clonePaths(paths, wanted.directory!, fetched.commit);
    record = { ...record, ...fetched };
    if (!isComplete(tree)) await exportTree(environment, git, fetched.commit, tree);
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

/** Throws `integrity` if a source has another signer than before, or none, unless a person accepts that (INS-94). */
async function assertSameSigner(
  { id, signer: before, signers }: SourceRecord,
  wanted: SourceRecord,
  signer: Signer | null,
  { acceptSigner }: InstallEnvironment,
): Promise<void> {
  if (signer?.key === before!.key) return;
  // A person who names the signers has decided.
  if (signer !== null && JSON.stringify(wanted.signers) !== JSON.stringify(signers)) return;
  if (await acceptSigner({ source: id, before: before!, now: signer })) return;
  const now = signer === null ? 'nothing verifies who signed it now' : `is now signed by ${describeSigner(signer)}`;
  throw new ToolError('integrity', `${id} was signed by ${describeSigner(before!)}, and ${now}`, {
    hint: `find out why${signer === null ? ', or list who may sign it in [sources] signers' : ''}; wield upgrade --fetch-only ${id} --accept accepts it`,
    data: { before, now: signer },
  });
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

/** What failed for one of several sources or servers. */
export interface Failure {
  readonly name: string;
  readonly error: ToolError;
}

/** Runs work for each source; of several, one that fails does not stop the others (INS-42). */
export async function forEachSource<S extends Pick<SourceRecord, 'id'>, T>(
  sources: readonly S[],
  work: (source: S) => Promise<T>,
): Promise<{ readonly done: readonly T[]; readonly failed: readonly Failure[] }> {
  const done: T[] = [];
  const failed: Failure[] = [];
  for (const source of sources) {
    try {
      done.push(await work(source));
    } catch (error) {
      if (sources.length === 1 || !isToolError(error) || error.code === 'cancelled') throw error;
      failed.push({ name: source.id, error });
    }
  }
  return { done, failed };
}

/** Fetches the commit that the pin leads to now; `before` is the one before. */
export async function syncSource(record: SourceRecord, accept: boolean, environment: InstallEnvironment) {
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
