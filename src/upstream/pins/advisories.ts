// Advisories in the OSV format, from files of this machine: which versions of packages must not run (UPS-124).

import { isAbsolute, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { compareText, quoteOutside } from '../../core/text.js';
import type { StdioServer } from '../../core/upstream.js';
import { expandHome } from '../../files/home.js';
import { namesIn } from '../../files/list.js';
import { readTextFile, statOrNothing } from '../../files/read.js';
import { describePackage, findPackages, isExact, type RunPackage } from './package.js';
import { toPypiName } from './resolve.js';

/** Where advisories are; undefined: none are used. */
export interface Advisories {
  readonly path: string | undefined;
  readonly home: string | undefined;
}

type Checked = Pick<RunPackage, 'ecosystem' | 'name' | 'wanted'>;

const MAX_FILES = 100_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Throws `denied` if an advisory affects one of the packages, `io` if the advisories cannot be read. */
export function assertHarmless(packages: readonly Checked[], advisories: Advisories, server: string): void {
  if (advisories.path === undefined) return;
  const keyOf = ({ ecosystem, name }: Pick<RunPackage, 'ecosystem' | 'name'>): string =>
    `${ecosystem} ${ecosystem === 'PyPI' ? toPypiName(name) : name}`;
  const wanted = new Map<string, Checked[]>();
  for (const one of packages) wanted.set(keyOf(one), [...(wanted.get(keyOf(one)) ?? []), one]);
  for (const { id, affected } of readAdvisories(advisories)) {
    for (const one of affected) {
      const found = (wanted.get(keyOf(one)) ?? []).find((checked) => isAffected(checked, one));
      if (found !== undefined) throw blockedBy(id, found, advisories.path, server);
    }
  }
}

/** Does the same for the packages that a command line names. Throws `denied` if they cannot be found in it. */
export function assertHarmlessCommand(
  { name, command, args }: Pick<StdioServer, 'name' | 'command' | 'args'>,
  advisories: Advisories,
): void {
  if (advisories.path === undefined) return;
  const packages = findPackages(command, args);
  if (packages === undefined)
    throw new ToolError('denied', `the server ${name} is blocked: the packages that it runs cannot be checked`, {
      hint: `name them by version in a command such as npx -y NAME@VERSION or uvx NAME@VERSION; mcp.advisories is set to ${advisories.path}`,
      data: { server: name },
    });
  // Advisories that cannot be read stop packages, and nothing else.
  if (packages.length > 0) assertHarmless(packages, advisories, name);
}

function blockedBy(id: string, found: Checked, path: string, server: string): ToolError {
  const isKnown = isExact(found);
  const what = describePackage(found, found.wanted);
  return new ToolError(
    'denied',
    `the server ${server} is blocked: ${quoteOutside(id, 60)} ${isKnown ? `affects ${what}` : `affects versions of ${what}, which is not an exact one`}`,
    {
      hint: isKnown
        ? `use another version; the advisories are in ${path}`
        : 'pin a version that it does not affect: wield mcp add NAME --force -- …',
      data: { server, advisory: id },
    },
  );
}

const array = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

interface Affected {
  readonly ecosystem: RunPackage['ecosystem'];
  readonly name: string;
  readonly versions: readonly string[];
  readonly ranges: readonly (readonly Event[])[];
}

interface Event {
  readonly kind: 'introduced' | 'fixed' | 'last_affected';
  readonly version: string;
}

function* readAdvisories({ path = '', home }: Advisories): Generator<{ id: string; affected: readonly Affected[] }> {
  const root = expandHome(path, home);
  const stats = isAbsolute(root) ? statOrNothing(root) : undefined;
  const files = stats?.isDirectory() ? listJson(root) : stats?.isFile() ? [root] : undefined;
  if (files === undefined) throw unreadable(path, 'is not a file or directory');
  if (files.length > MAX_FILES) throw unreadable(path, `has more than ${MAX_FILES} files`);
  for (const file of files) {
    let document: unknown;
    try {
      document = JSON.parse(readTextFile(file, MAX_BYTES) ?? '');
    } catch {
      throw unreadable(file, 'is not JSON');
    }
    for (const one of Array.isArray(document) ? document : [document]) {
      if (!isRecord(one) || typeof one.id !== 'string') throw unreadable(file, 'is not an advisory of OSV');
      if (one.withdrawn === undefined) yield { id: one.id, affected: array(one.affected).flatMap(toAffected) };
    }
  }
}

function listJson(directory: string): string[] {
  return namesIn(directory)
    .map((name) => join(directory, name))
    .flatMap((path) => (path.endsWith('.json') ? [path] : statOrNothing(path)?.isDirectory() ? listJson(path) : []));
}

function toAffected(value: unknown): Affected[] {
  const { package: named, versions, ranges } = isRecord(value) ? value : {};
  const { ecosystem, name } = isRecord(named) ? named : {};
  if ((ecosystem !== 'npm' && ecosystem !== 'PyPI') || typeof name !== 'string') return [];
  return [
    {
      ecosystem,
      name,
      versions: array(versions).filter((one) => typeof one === 'string'),
      ranges: array(ranges).flatMap((range) =>
        isRecord(range) && range.type !== 'GIT' ? [array(range.events).flatMap(toEvent)] : [],
      ),
    },
  ];
}

function toEvent(value: unknown): Event[] {
  if (!isRecord(value)) return [];
  const kinds = ['introduced', 'fixed', 'last_affected'] as const;
  return kinds.flatMap((kind) => {
    const version = value[kind];
    return typeof version === 'string' ? [{ kind, version }] : [];
  });
}

// Without versions and ranges, all versions are. A version that is not known may be any.
function isAffected(checked: Checked, { versions, ranges }: Affected): boolean {
  if (!isExact(checked) || (versions.length === 0 && ranges.length === 0)) return true;
  const version = checked.wanted!;
  const compare = (other: string): number => compareVersions(version, other);
  return versions.some((one) => compare(one) === 0) || ranges.some((events) => isInRange(compare, events));
}

// The algorithm of the OSV schema: the last event that is not above the version decides.
function isInRange(compare: (other: string) => number, events: readonly Event[]): boolean {
  const sorted = [...events].sort((a, b) =>
    a.version === '0' ? -1 : b.version === '0' ? 1 : compareVersions(a.version, b.version),
  );
  let affected = false;
  for (const { kind, version } of sorted) {
    const order = version === '0' ? 1 : compare(version);
    if (kind === 'introduced' && order >= 0) affected = true;
    if ((kind === 'fixed' && order >= 0) || (kind === 'last_affected' && order > 0)) affected = false;
  }
  return affected;
}

function unreadable(path: string, reason: string): ToolError {
  return new ToolError('io', `mcp.advisories: ${quoteOutside(path, 300)} ${reason}`, {
    hint: 'fix it: servers are not started without the advisories',
  });
}

// Releases are after their pre-releases, and before their post-releases.
const ORDER: Readonly<Record<string, number>> = {
  dev: 0,
  a: 1,
  alpha: 1,
  b: 2,
  beta: 2,
  c: 3,
  rc: 3,
  pre: 3,
  preview: 3,
  '': 4,
  post: 5,
  rev: 5,
  r: 5,
};

/** Returns a number below, equal to or above 0. What follows `+` does not count. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  const ofNumbers = compareEach(left.numbers, right.numbers, (one = 0, other = 0) => one - other);
  return ofNumbers || compareEach(left.tail, right.tail, compareParts);
}

function parse(version: string) {
  const plain = version.trim().toLowerCase().replace(/^v/, '').split('+')[0]!;
  const [, epoch = '0', release = '', tail = ''] = /^(?:(\d+)!)?(\d+(?:\.\d+)*)?(.*)$/s.exec(plain) ?? [];
  // 1.0 and 1.0.0 are the same.
  const numbers = [epoch, ...release.split('.')].map(Number);
  while (numbers.at(-1) === 0) numbers.pop();
  return { numbers, tail: tail.match(/\d+|[a-z]+/g) ?? [] };
}

function compareEach<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (one: T | undefined, other: T | undefined, isFirst: boolean) => number,
): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const order = compare(a[at], b[at], at === 0);
    if (order !== 0) return order;
  }
  return 0;
}

// Numbers are before words. A first part is that of a pre-release, unless its word says otherwise.
function compareParts(a: string | undefined, b: string | undefined, isFirst: boolean): number {
  const [isNumber, isOtherNumber] = [a, b].map((part) => part !== undefined && /^\d/.test(part));
  if (isNumber && isOtherNumber) return Number(a) - Number(b);
  if (isNumber) return b === undefined && !isFirst ? 1 : -1;
  if (isOtherNumber) return a === undefined && !isFirst ? -1 : 1;
  const rank = (part = ''): number => ORDER[part] ?? 3.5;
  const order = rank(a) - rank(b);
  return order !== 0 || rank(a) !== 3.5 ? order : compareText(a ?? '', b ?? '');
}
