// Identifies the npm packages that modules import, by their versions and the bytes of all their files (POL-25).

import { dirname, join } from 'node:path';
import { orNothing } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { FileIdentity } from '../core/origin.js';
import { digestFile, digestParts } from './digest.js';
import { entriesOf } from './list.js';
import { isSettled, readHead, sameIdentity, statOrNothing, toIdentity } from './read.js';
import { realPath } from './within.js';

/** Code, and the file that its imports are resolved from. */
export interface ModuleText {
  readonly file: string;
  readonly text: string;
}

const MAX_MANIFEST_BYTES = 1024 * 1024;
// Of packages after the first ones with so many files, only package.json is compared.
const MAX_FILES = 10_000;
const MAX_PACKAGES = 2000;
// More lines would not fit into the record of an approval.
const MAX_LINES = 200;
// Matches `from 'x'`, `import 'x'`, `import('x')`, `require('x')`, `resolve('x')` and `createRequire(…)('x')`. A false match
// only adds a package.
const SPECIFIER =
  /(?:\b(?:from|import|resolve|\w{0,100}require\w{0,100})|\))(?:\s|\/\*(?:[^*]|\*(?!\/)){0,200}\*\/){0,32}\(?\s{0,100}(["'`])([^"'`\n\\]{1,1000})\1/gi;
const BARE = /^(@[\w.~-]+\/[\w.~-]+|[\w~][\w.~-]*)(?:\/|$)/;

/** Returns a line for each package that the code imports, directly or through other packages. */
export function identifyPackages(modules: readonly ModuleText[], now: () => number): string[] {
  const waiting = modules.flatMap(({ file, text }) => importsOf(text).map((name) => ({ name, from: dirname(file) })));
  const lines = new Map<string, string>();
  let files = 0;
  for (let next = waiting.shift(); next !== undefined && lines.size < MAX_PACKAGES; next = waiting.shift()) {
    const directory = findPackage(next.name, next.from);
    if (directory === undefined || lines.has(directory)) continue;
    const { version, dependencies } = readManifest(directory);
    const paths = files < MAX_FILES ? filesBelow(directory, MAX_FILES - files) : undefined;
    files += paths?.length ?? MAX_FILES;
    const digest = digestPaths(directory, paths ?? ['package.json'], now);
    lines.set(directory, `package ${next.name}@${version} ${paths ? 'sha256' : 'package.json sha256'} ${digest}`);
    waiting.push(...dependencies.map((name) => ({ name, from: directory })));
  }
  const sorted = [...lines.values()].sort();
  if (sorted.length <= MAX_LINES) return sorted;
  const rest = sorted.slice(MAX_LINES);
  return [...sorted.slice(0, MAX_LINES), `packages: ${rest.length} more, sha256 ${digestParts(rest)}`];
}

function importsOf(text: string): string[] {
  const names = [...text.matchAll(SPECIFIER)].flatMap(([, , specifier]) => BARE.exec(specifier!)?.[1] ?? []);
  return [...new Set(names)];
}

// As Node does: in the nearest node_modules that has it.
function findPackage(name: string, from: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    const found = join(directory, 'node_modules', name);
    if (statOrNothing(found)?.isDirectory()) return realPath(found);
    if (directory === dirname(directory)) return undefined;
  }
}

function readManifest(directory: string): { readonly version: string; readonly dependencies: readonly string[] } {
  const reading = readHead(join(directory, 'package.json'), MAX_MANIFEST_BYTES);
  const manifest = orNothing(() => ('fault' in reading ? {} : (JSON.parse(reading.bytes.toString('utf8')) as unknown)));
  if (!isRecord(manifest)) return { version: '?', dependencies: [] };
  const { version, dependencies, optionalDependencies, peerDependencies } = manifest;
  const names = [dependencies, optionalDependencies, peerDependencies].flatMap((table) =>
    isRecord(table) ? Object.keys(table) : [],
  );
  return {
    version: typeof version === 'string' ? version : '?',
    dependencies: names.filter((name) => BARE.exec(name)?.[1] === name),
  };
}

// Packages inside a package are found as its dependencies. Returns undefined if there are more files than the limit.
function filesBelow(directory: string, limit: number): readonly string[] | undefined {
  const files: string[] = [];
  const waiting = [''];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for (const entry of entriesOf(join(directory, below))) {
      const path = join(below, entry.name);
      if (!entry.isDirectory()) files.push(path);
      else if (entry.name !== 'node_modules') waiting.push(path);
    }
    if (files.length + waiting.length > limit) return undefined;
  }
  return files.sort();
}

interface Hashed {
  readonly states: ReadonlyMap<string, FileIdentity>;
  readonly digest: string;
}

const known = new Map<string, Hashed>();

function digestPaths(directory: string, paths: readonly string[], now: () => number): string {
  const states = new Map(
    paths.flatMap((path) => {
      const stats = statOrNothing(join(directory, path));
      return stats?.isFile() ? [[path, toIdentity(stats)] as const] : [];
    }),
  );
  const before = known.get(directory);
  const isSame = ([path, state]: readonly [string, FileIdentity]): boolean =>
    sameIdentity(before!.states.get(path), state);
  if (before !== undefined && before.states.size === states.size && [...states].every(isSame)) return before.digest;
  const parts = [...states.keys()].map((path) => {
    const hashed = digestFile(join(directory, path), [path]);
    return 'fault' in hashed ? `${path}: ${hashed.fault}` : hashed.digest;
  });
  const digest = digestParts(parts);
  if ([...states.values()].every((state) => isSettled(state, now()))) known.set(directory, { states, digest });
  return digest;
}
