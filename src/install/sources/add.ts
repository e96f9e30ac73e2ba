// Registers a source and its nested sources.

import { ToolError } from '../../core/error.js';
import { count, nearest, quoteOutside } from '../../core/text.js';
import type { InstallEnvironment } from '../environment.js';
import { loadSources } from '../state.js';
import { type AddedSources, addNested, type SkippedSource } from './add-nested.js';
import { saveAll } from './fetch.js';
import { type AddedSource, type AddSourceOptions, addOne } from './register.js';
import type { Scan } from './scan.js';

/** Registers a source and its nested sources (INS-1). One that cannot be fetched is skipped, unless nothing is left. */
export async function addSource(options: AddSourceOptions, environment: InstallEnvironment): Promise<AddedSources> {
  const { paths } = environment;
  const before = loadSources(paths);
  const first: AddedSource = { ...(await addOne(options, null, environment)), install: 'all' };
  const nested = await addRest(first, options, environment).catch((error: unknown) => {
    // All or nothing: a failed hook of a nested source leaves no source behind.
    saveAll(before, environment);
    throw error;
  });
  const failed = nested.skipped.filter(({ reason }) => reason !== 'not_chosen');
  if (first.scan.items.length === 0 && nested.added.length === 0 && failed.length > 0) {
    saveAll(before, environment);
    const [{ source, message }] = failed as [SkippedSource];
    throw new ToolError('unavailable', `nothing was added: ${quoteOutside(source, 120)}: ${message}`, {
      hint: 'the source has no items of its own, and none of its nested sources could be added',
    });
  }
  return { added: [first, ...nested.added], skipped: nested.skipped };
}

async function addRest(first: AddedSource, { plugins }: AddSourceOptions, environment: InstallEnvironment) {
  assertPlugins(first.scan, plugins);
  return addNested(first, environment, plugins);
}

function assertPlugins({ plugins, manifest }: Scan, chosen: readonly string[] = []): void {
  const elsewhere = manifest.sources.flatMap(({ adoption }) => adoption?.plugins ?? []);
  const names = [...plugins, ...elsewhere].map(({ name }) => name);
  const unknown = chosen.find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const close = nearest(unknown, names);
  throw new ToolError('not_found', `the source has no plugin "${quoteOutside(unknown, 60)}"`, {
    hint: close.length > 0 ? `did you mean ${close.join(', ')}?` : `it has ${count(names.length, 'plugin')}`,
  });
}
