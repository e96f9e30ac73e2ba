// Registers a source and its nested sources: those of its manifest, and the repositories of its marketplace.

import { dirname } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import { count, nearest, quoteOutside } from '../../core/text.js';
import { findCheckout } from '../../files/home.js';
import { isWithin } from '../../files/within.js';
import { classifyHost, isWithinReach } from '../../net/address.js';
import type { InstallEnvironment } from '../environment.js';
import type { NestedSource } from '../manifest/source-manifest.js';
import { loadSources, type SourceRecord } from '../state.js';
import { treeOf } from './clones.js';
import { type FetchedSource, saveAll } from './fetch.js';
import { scanRecord } from './load.js';
import { hideUser, hostOf, isWebLocation, parseLocation, protocolOf, type SourceLocation } from './location.js';
import { type AddedSource, type AddSourceOptions, addOne } from './register.js';
import type { Scan } from './scan.js';

/** Registers a source and its nested sources (INS-1). One that cannot be fetched is skipped, unless nothing is left. */
export async function addSource(options: AddSourceOptions, environment: InstallEnvironment): Promise<AddedSources> {
  const before = loadSources(environment.paths);
  const first: AddedSource = { ...(await addOne(options, null, environment)), install: 'all' };
  try {
    assertPlugins(first.scan, options.plugins);
    const { added, skipped } = await addNested(first, environment, options.plugins);
    const failed = skipped.find(({ reason }) => reason !== 'not_chosen');
    if (first.scan.items.length === 0 && added.length === 0 && failed !== undefined)
      throw new ToolError('unavailable', `nothing was added: ${quoteOutside(failed.source, 120)}: ${failed.message}`, {
        hint: 'the source has no items of its own, and none of its nested sources could be added',
      });
    return { added: [first, ...added], skipped };
  } catch (error) {
    // All or nothing: a failed hook of a nested source leaves no source behind.
    saveAll(before, environment);
    throw error;
  }
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

/** A nested source that could not be added. */
interface SkippedSource {
  readonly source: string;
  readonly reason: 'auth_failure' | 'fetch_failure' | 'not_chosen' | 'other_commit';
  readonly message: string;
}

export interface AddedSources {
  /** The requested one comes first. */
  readonly added: readonly AddedSource[];
  readonly skipped: readonly SkippedSource[];
}

const MAX_NESTING = 8;
// A marketplace can list hundreds of repositories.
const MAX_REPOSITORIES = 20;

/**
 * Registers the nested sources of a source, and theirs. Known ones stay as they are, unless a marketplace lists them at
 * another commit. `plugins` chooses those of a marketplace; `only` registers no new ones.
 */
export async function addNested(
  outer: FetchedSource,
  environment: InstallEnvironment,
  plugins: readonly string[] = [],
  only: 'known' | 'all' = 'all',
): Promise<AddedSources> {
  const { paths, report } = environment;
  const added: AddedSource[] = [];
  const skipped: SkippedSource[] = [];
  const seen = new Set([outer.record.location]);
  const queue = nestedOf(outer, 1);
  const skip = ({ adoption }: NestedSource, reason: keyof typeof PLUGIN_REASONS): void => {
    for (const { name } of adoption?.plugins ?? [])
      skipped.push({ source: name, reason, message: PLUGIN_REASONS[reason] });
  };
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { nested, parent, depth, repositories } = next;
    const located = locate(nested, parent, seen, environment);
    if ('reason' in located) {
      skipped.push(located);
      continue;
    }
    const { location } = located.location;
    const known = loadSources(paths).find((one) => one.location === location);
    if (seen.has(location)) skip(nested, 'other_commit');
    // Sources may be nested in a cycle, and one that was added otherwise is not this one's.
    else if (known !== undefined && known.parent !== parent.id) continue;
    else if (!isChosen(nested, repositories, plugins)) {
      if (known === undefined && only === 'all') skip(nested, 'not_chosen');
    } else if (known !== undefined && !isSamePlugin(nested, known)) skip(nested, 'other_commit');
    else if (known !== undefined || only === 'all') {
      seen.add(location);
      const one =
        known === undefined || isListedAnew(nested, known)
          ? await addOrSkip(nested, located, environment)
          : { record: known, scan: scanRecord(known, treeOf(known, paths)), known: true };
      if ('reason' in one) skipped.push(one);
      else {
        added.push({ ...one, install: nested.install });
        queue.push(...nestedOf(one, depth + 1));
      }
    }
  }
  for (const { source, reason, message } of skipped)
    if (reason === 'other_commit') report({ kind: 'warning', text: `skipped the plugin ${source}: ${message}` });
  const left = skipped.filter(({ reason }) => reason === 'not_chosen').map(({ source }) => source);
  if (left.length > 0) {
    const some = left.slice(0, 3).join(', ');
    const text = `${count(left.length, 'plugin')} in other repositories ${left.length === 1 ? 'was' : 'were'} not fetched (${some}${left.length > 3 ? ', …' : ''}); fetch one: wield add ${outer.record.location} --plugin NAME`;
    report({ kind: 'note', text });
  }
  return { added, skipped };
}

// A missing directory is skipped, as is a plugin in a repository that must not be nested; any other such source is an
// error.
function locate(
  nested: NestedSource,
  parent: SourceRecord,
  seen: ReadonlySet<string>,
  { paths, world, report }: InstallEnvironment,
): NestedLocation | SkippedSource {
  const cwd = parent.kind === 'local' ? parent.location : treeOf(parent, paths);
  try {
    const location = parseLocation(nested.source, cwd, world.home);
    if (!seen.has(location.location)) assertNested(location, parent);
    return { location, cwd, parent };
  } catch (error) {
    if (!isToolError(error)) throw error;
    const plugins = nested.adoption?.plugins;
    if (plugins === undefined && error.code !== 'usage') throw error;
    const what = plugins === undefined ? 'a nested source' : `the plugin ${plugins.map(({ name }) => name).join(', ')}`;
    report({ kind: 'warning', text: `skipped ${what}: ${error.message}` });
    return { source: quoteOutside(nested.source, 120), reason: 'fetch_failure', message: error.message };
  }
}

// Plugins in other repositories are fetched if they are chosen, or if there are few.
function isChosen({ adoption }: NestedSource, repositories: number, plugins: readonly string[]): boolean {
  if (adoption?.plugins === undefined) return true;
  if (plugins.length === 0) return repositories <= MAX_REPOSITORIES;
  return adoption.plugins.some(({ name }) => plugins.includes(name));
}

const PLUGIN_REASONS = {
  not_chosen: 'the plugin is in another repository; pass --plugin NAME to fetch it',
  other_commit: 'its repository is used at another commit',
};

// One repository is registered once, with the plugins of one commit.
function isSamePlugin({ adoption }: NestedSource, known: SourceRecord): boolean {
  if (adoption?.plugins === undefined) return true;
  const names = known.adoption?.plugins?.map(({ name }) => name) ?? [];
  return adoption.plugins.some(({ name }) => names.includes(name));
}

function isListedAnew({ adoption, pin }: NestedSource, known: SourceRecord): boolean {
  if (adoption?.plugins === undefined) return false;
  const isSamePin = pin === null || pin.name === known.pin?.name;
  return !isSamePin || JSON.stringify(adoption) !== JSON.stringify(known.adoption);
}

function nestedOf({ record, scan: { manifest } }: FetchedSource, depth: number) {
  const repositories = manifest.sources.filter(({ adoption }) => adoption?.plugins !== undefined).length;
  if (depth > MAX_NESTING) return [];
  return manifest.sources.map((nested) => ({ nested, parent: record, depth, repositories }));
}

interface NestedLocation {
  readonly location: SourceLocation;
  readonly cwd: string;
  readonly parent: SourceRecord;
}

async function addOrSkip(
  nested: NestedSource,
  { location, cwd, parent }: NestedLocation,
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
    // The signature of the outer source covers the commits that it names.
    signers: pin?.to === 'commit' || location.kind !== 'git' ? undefined : parent.signers,
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

/**
 * Only the source that a person named may be local: a nested one is fetched over the network, and is no nearer to this
 * machine than the one that names it (INS-77). A local directory may also name directories next to it and in its own
 * repository (INS-39).
 */
function assertNested({ kind, location }: SourceLocation, parent: SourceRecord): void {
  const isLocal = kind === 'bundle' ? !isWebLocation(location) : kind === 'local' || protocolOf(location) === 'file';
  if (!isLocal) {
    assertFar(location, parent);
    return;
  }
  if (kind === 'local' && parent.kind === 'local') {
    const checkout = findCheckout(parent.location);
    if (isWithin(parent.location, location) || dirname(location) === dirname(parent.location)) return;
    if (checkout !== undefined && checkout !== location && isWithin(checkout, location)) return;
  }
  throw new ToolError('path_escape', `${parent.id} names a local nested source: ${quoteOutside(location, 120)}`, {
    hint: 'a nested source must be a repository on the network, or a directory next to the local one; add it yourself: wield add DIR',
  });
}

// Otherwise any repository could let this machine send requests to services of its network.
function assertFar(location: string, parent: SourceRecord): void {
  const host = hostOf(location);
  const own = hostOf(parent.location);
  const reach = own === undefined ? 'loopback' : classifyHost(own).class;
  const found = classifyHost(host ?? '');
  if (reach !== 'forbidden' && isWithinReach(found.class, reach)) return;
  throw new ToolError(
    'path_escape',
    `${parent.id} names a nested source at ${found.label}: ${quoteOutside(hideUser(location), 120)}`,
    { hint: 'if it is yours, add it yourself: wield add URL' },
  );
}
