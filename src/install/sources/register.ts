// Syncs and removes sources. Their items are upgraded and removed separately.

import { existsSync, rmSync } from 'node:fs';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { InstallEnvironment } from '../environment.js';
import { loadSources, type SourceRecord, saveSources } from '../state.js';
import { removeUnusedClones, treeOf } from './clones.js';
import { type FetchedSource, fetchSource, runSourceHooks } from './fetch.js';
import { loadManifest } from './load-manifest.js';

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
