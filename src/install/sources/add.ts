// Registers a source and its nested sources.

import { isToolError, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { InstallEnvironment } from '../environment.js';
import { findNamespaceFault } from '../manifest/item-name.js';
import type { Adoption, NestedSource, Pin } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord } from '../state.js';
import { cloneDirectory, removeUnusedClones, treeOf } from './clones.js';
import { type FetchedSource, fetchSource, saveAll } from './fetch.js';
import { scanRecord } from './load.js';
import { assertNested } from './local-nested.js';
import { parseLocation, type SourceLocation } from './location.js';

export interface AddSourceOptions {
  readonly source: string;
  readonly cwd: string;
  /** Undefined: the namespace of the manifest. Empty: no namespace. */
  readonly namespace?: string | undefined;
  readonly pin?: Pin | undefined;
  readonly roots: readonly string[];
  readonly addRoots?: readonly string[] | undefined;
  readonly adoption?: Adoption | null;
}

export interface AddedSource extends FetchedSource {
  /** Whether it was registered before. */
  readonly known: boolean;
  /** Which of its items are installed with it. */
  readonly install: NestedSource['install'];
}

/** A nested source that could not be added. */
export interface SkippedSource {
  readonly source: string;
  readonly reason: 'auth_failure' | 'fetch_failure';
  readonly message: string;
}

export interface AddedSources {
  /** The requested one comes first. */
  readonly added: readonly AddedSource[];
  readonly skipped: readonly SkippedSource[];
}

const MAX_NESTING = 8;

/** Registers a source and its nested sources (INS-1). One that cannot be fetched is skipped, unless nothing is left. */
export async function addSource(options: AddSourceOptions, environment: InstallEnvironment): Promise<AddedSources> {
  const { paths } = environment;
  const before = loadSources(paths);
  const first: AddedSource = { ...(await addOne(options, null, environment)), install: 'all' };
  const nested = await addNested(first, environment);
  if (first.scan.items.length === 0 && nested.added.length === 0 && nested.skipped.length > 0) {
    saveAll(before, environment);
    const [{ source, message }] = nested.skipped as [SkippedSource];
    throw new ToolError('unavailable', `nothing was added: ${quoteOutside(source, 120)}: ${message}`, {
      hint: 'the source has no items of its own, and none of its nested sources could be added',
    });
  }
  return { added: [first, ...nested.added], skipped: nested.skipped };
}

/** Registers the nested sources of a source, and theirs. Known ones stay as they are. */
export async function addNested(outer: FetchedSource, environment: InstallEnvironment): Promise<AddedSources> {
  const { paths, world } = environment;
  const added: AddedSource[] = [];
  const skipped: SkippedSource[] = [];
  const seen = new Set([outer.record.location]);
  const queue = nestedOf(outer, 1);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { nested, parent, depth } = next;
    const cwd = parent.kind === 'local' ? parent.location : treeOf(parent, paths);
    const location = parseLocation(nested.source, cwd, world.home);
    const known = loadSources(paths).find((one) => one.location === location.location);
    // Sources may be nested in a cycle, and one that was added otherwise is not this one's.
    if (seen.has(location.location) || (known !== undefined && known.parent !== parent.id)) continue;
    seen.add(location.location);
    assertNested(location, parent);
    const one =
      known === undefined
        ? await addOrSkip(nested, { location, cwd, parent }, environment)
        : { record: known, scan: scanRecord(known, treeOf(known, paths)), known: true };
    if ('reason' in one) skipped.push(one);
    else {
      added.push({ ...one, install: nested.install });
      queue.push(...nestedOf(one, depth + 1));
    }
  }
  return { added, skipped };
}

function nestedOf({ record, scan }: FetchedSource, depth: number) {
  return depth > MAX_NESTING ? [] : scan.manifest.sources.map((nested) => ({ nested, parent: record, depth }));
}

interface NestedPlace {
  readonly location: SourceLocation;
  readonly cwd: string;
  readonly parent: SourceRecord;
}

async function addOrSkip(
  nested: NestedSource,
  { location, cwd, parent }: NestedPlace,
  environment: InstallEnvironment,
): Promise<Omit<AddedSource, 'install'> | SkippedSource> {
  const { source, namespace, pin, adoption, onAuthFailure } = nested;
  const isLocal = location.kind === 'local';
  if (isLocal && pin !== null)
    environment.report({ kind: 'note', text: `${location.name} is a local directory, so its pin is ignored` });
  const options = {
    source,
    cwd,
    roots: [],
    namespace: namespace ?? undefined,
    pin: isLocal ? undefined : (pin ?? undefined),
    adoption,
  };
  try {
    return await addOne(options, parent.id, environment);
  } catch (error) {
    if (!isToolError(error) || !UNREACHABLE.includes(error.code)) throw error;
    const auth = error.data?.auth === true;
    const more = auth && onAuthFailure?.message ? `; ${quoteOutside(onAuthFailure.message, 300)}` : '';
    if (auth && onAuthFailure?.action === 'error')
      throw new ToolError('unavailable', `could not add ${location.name}: access was denied${more}`, { cause: error });
    environment.report({
      kind: 'warning',
      text: `skipped the nested source ${location.name}: ${error.message}${more}`,
    });
    return { source, reason: auth ? 'auth_failure' : 'fetch_failure', message: error.message };
  }
}

const UNREACHABLE: readonly string[] = ['unavailable', 'not_found', 'timeout'];

async function addOne(
  options: AddSourceOptions,
  parent: string | null,
  environment: InstallEnvironment,
): Promise<Omit<AddedSource, 'install'>> {
  const { paths, world } = environment;
  const known = loadSources(paths);
  const location = parseLocation(options.source, options.cwd, world.home);
  const blank = toRecord({ ...options, parent }, location, known, environment);
  const before = known.find(({ id }) => id === blank.id);
  const fetched = await fetchSource(blank, before, environment).catch((error: unknown) => {
    removeUnusedClones(paths, known);
    throw error;
  });
  saveAll([...known.filter(({ id }) => id !== blank.id), fetched.record], environment);
  return { ...fetched, known: before !== undefined };
}

/** Returns the record of a source before it is fetched; values of an earlier registration stay unless they are given again. */
export function toRecord(
  { namespace, pin, roots, addRoots = [], adoption, parent }: AddSourceOptions & { readonly parent: string | null },
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
    addRoots: addRoots.length > 0 ? addRoots : (before?.addRoots ?? []),
    adoption: adoption === undefined ? (before?.adoption ?? null) : adoption,
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
