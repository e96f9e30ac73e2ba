// Fetches one source and registers it.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { InstallEnvironment } from '../environment.js';
import { findNamespaceFault } from '../manifest/item-name.js';
import type { Adoption, NestedSource, Pin } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord } from '../state.js';
import { cloneDirectory } from './clones.js';
import { type FetchedSource, fetchSource, saveAll } from './fetch.js';
import { parseLocation, type SourceLocation } from './location.js';

export interface AddSourceOptions {
  readonly source: string;
  readonly cwd: string;
  /** Undefined: the namespace of the manifest. Empty: no namespace. */
  readonly namespace?: string | undefined;
  readonly pin?: Pin | undefined;
  /** Lines of keys; undefined: as before. */
  readonly signers?: readonly string[] | undefined;
  readonly roots: readonly string[];
  readonly addRoots?: readonly string[] | undefined;
  readonly adoption?: Adoption | null;
  /** Plugins of a marketplace to fetch from other repositories; undefined for all, if they are not too many. */
  readonly plugins?: readonly string[] | undefined;
}

export interface AddedSource extends FetchedSource {
  /** Whether it was registered before. */
  readonly known: boolean;
  /** Which of its items are installed with it. */
  readonly install: NestedSource['install'];
}

/** `parent` is the id of the source it is nested in. */
export async function addOne(
  options: AddSourceOptions,
  parent: string | null,
  environment: InstallEnvironment,
): Promise<Omit<AddedSource, 'install'>> {
  const { paths, world } = environment;
  const known = loadSources(paths);
  const location = parseLocation(options.source, options.cwd, world.home);
  const blank = toRecord({ ...options, parent }, location, known, environment);
  const before = known.find(({ id }) => id === blank.id);
  const fetched = await fetchSource(blank, before, environment);
  saveAll([...known.filter(({ id }) => id !== blank.id), fetched.record], environment);
  return { ...fetched, known: before !== undefined };
}

/** Returns the record of a source before it is fetched; values of an earlier registration stay unless they are given again. */
export function toRecord(
  {
    namespace,
    pin,
    signers,
    roots,
    addRoots = [],
    adoption,
    parent,
  }: AddSourceOptions & { readonly parent: string | null },
  { kind, location, name }: SourceLocation,
  known: readonly SourceRecord[],
  { world }: InstallEnvironment,
): SourceRecord {
  const refuse = (what: string, hint: string): ToolError => new ToolError('usage', what, { hint });
  const fault = namespace === undefined || namespace === '' ? undefined : findNamespaceFault(namespace);
  if (fault !== undefined)
    throw refuse(`the namespace "${quoteOutside(namespace!, 60)}" ${fault}`, 'use letters, digits, _ and -');
  if (pin !== undefined && kind === 'local')
    throw refuse('a local directory cannot be pinned', 'omit --pin, or add it as a repository: file:///path/to/repo');
  if (pin !== undefined && kind === 'bundle' && !/^[0-9a-f]{64}$/.test(pin.name))
    throw refuse('a bundle can be pinned to its SHA-256 only', 'pass --pin with 64 hexadecimal digits');
  if (signers !== undefined && kind !== 'git') {
    const what = kind === 'local' ? 'local directory' : 'bundle';
    throw refuse(`a ${what} has no signature`, 'omit --signer, or add it as a repository: file:///path/to/repo');
  }
  const before = known.find((one) => one.location === location);
  const keys = signers ?? before?.signers ?? [];
  return {
    id: before?.id ?? uniqueId(name, known),
    kind,
    location,
    directory: kind !== 'local' ? cloneDirectory({ kind, location, name }) : null,
    prefix: namespace === undefined ? (before?.prefix ?? null) : namespace === '' ? null : namespace,
    prefixGiven: namespace !== undefined || (before?.prefixGiven ?? false),
    roots: roots.length > 0 ? roots : (before?.roots ?? []),
    addRoots: addRoots.length > 0 ? addRoots : (before?.addRoots ?? []),
    adoption: adoption === undefined ? (before?.adoption ?? null) : adoption,
    pin: pin ?? before?.pin ?? null,
    pinGiven: pin !== undefined || (before?.pinGiven ?? false),
    ...(keys.length === 0 ? {} : { signers: keys }),
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
