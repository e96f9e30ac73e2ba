// Registers a source and its nested sources.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { isWithin } from '../../files/within.js';
import type { InstallEnvironment } from '../environment.js';
import { findNamespaceFault } from '../manifest/item-name.js';
import type { Pin } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord } from '../state.js';
import { cloneDirectory, removeUnusedClones, treeOf } from './clones.js';
import { type FetchedSource, fetchSource, saveAll } from './fetch.js';
import { parseLocation, protocolOf, type SourceLocation } from './location.js';

export interface AddSourceOptions {
  readonly source: string;
  readonly cwd: string;
  /** Undefined: the namespace of the manifest. Empty: no namespace. */
  readonly namespace?: string | undefined;
  readonly pin?: Pin | undefined;
  readonly roots: readonly string[];
}

export interface AddedSource extends FetchedSource {
  /** Whether it was registered before. */
  readonly known: boolean;
}

const MAX_NESTING = 8;

/** Registers a source and its nested sources; the requested one comes first (INS-1). */
export async function addSource(
  options: AddSourceOptions,
  environment: InstallEnvironment,
): Promise<readonly AddedSource[]> {
  const { paths, world } = environment;
  const added: AddedSource[] = [];
  const queue: { options: AddSourceOptions; parent: SourceRecord | null; depth: number }[] = [
    { options, parent: null, depth: 0 },
  ];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { parent, depth } = next;
    const known = loadSources(paths);
    const location = parseLocation(next.options.source, next.options.cwd, world.home);
    // Sources may be nested in a cycle.
    if (parent !== null && known.some((one) => one.location === location.location)) continue;
    if (parent !== null) assertNested(location, parent);
    const blank = toRecord({ ...next.options, parent: parent?.id ?? null }, location, known, environment);
    const before = known.find(({ id }) => id === blank.id);
    const fetched = await fetchSource(blank, before, environment).catch((error: unknown) => {
      removeUnusedClones(paths, known);
      throw error;
    });
    const { record, scan } = fetched;
    saveAll([...known.filter(({ id }) => id !== record.id), record], environment);
    added.push({ ...fetched, known: before !== undefined });
    for (const { source, namespace, pin } of depth < MAX_NESTING ? scan.manifest.sources : []) {
      queue.push({
        options: {
          source,
          cwd: record.kind === 'local' ? record.location : treeOf(record, paths),
          roots: [],
          namespace: namespace ?? undefined,
          pin: pin ?? undefined,
        },
        parent: record,
        depth: depth + 1,
      });
    }
  }
  return added;
}

// Only the source that a person named may be local: a nested one is fetched over the network, or inside its parent.
function assertNested({ kind, location }: SourceLocation, parent: SourceRecord): void {
  const isLocal = kind === 'local' || protocolOf(location) === 'file';
  if (!isLocal || (kind === 'local' && parent.kind === 'local' && isWithin(parent.location, location))) return;
  throw new ToolError('path_escape', `${parent.id} names a local nested source: ${quoteOutside(location, 120)}`, {
    hint: 'a nested source must be a repository on the network; add a local one yourself',
  });
}

// The record of a source before it is fetched; values of an earlier registration stay unless they are given again.
function toRecord(
  { namespace, pin, roots, parent }: AddSourceOptions & { readonly parent: string | null },
  { kind, location, name }: SourceLocation,
  known: readonly SourceRecord[],
  { world }: InstallEnvironment,
): SourceRecord {
  const fault = namespace === undefined || namespace === '' ? undefined : findNamespaceFault(namespace);
  if (fault !== undefined)
    throw new ToolError('usage', `the namespace "${quoteOutside(namespace!, 60)}" ${fault}`, {
      hint: 'use letters, digits, _ and -',
    });
  if (pin !== undefined && kind === 'local')
    throw new ToolError('usage', 'a local directory cannot be pinned', {
      hint: 'omit --pin, or add it as a repository: file:///path/to/repo',
    });
  const before = known.find((one) => one.location === location);
  return {
    id: before?.id ?? uniqueId(name, known),
    kind,
    location,
    directory: kind === 'git' ? cloneDirectory({ kind, location, name }) : null,
    prefix: namespace === undefined ? (before?.prefix ?? null) : namespace === '' ? null : namespace,
    prefixGiven: namespace !== undefined || (before?.prefixGiven ?? false),
    roots: roots.length > 0 ? roots : (before?.roots ?? []),
    pin: pin ?? before?.pin ?? null,
    pinGiven: pin !== undefined || (before?.pinGiven ?? false),
    ref: null,
    commit: null,
    hooks: 'none',
    parent: before?.parent ?? parent,
    since: before?.since ?? new Date(world.now()).toISOString(),
  };
}

function uniqueId(name: string, sources: readonly SourceRecord[]): string {
  for (let at = 1; ; at++) {
    const id = at === 1 ? name : `${name}-${at}`;
    if (!sources.some((source) => source.id === id)) return id;
  }
}
