// A resolver written from the statements alone: reads everything each time, keeps nothing, knows precedence.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CONFIGS } from './histories.js';

export interface Situation {
  readonly workdir: string;
  readonly home: string;
  /** One of `CONFIGS`. */
  readonly config: string;
  readonly registered: ReadonlyMap<string, string>;
}

interface SearchPath {
  readonly directories: readonly string[];
  readonly isIgnored: (directory: string, entry: string) => boolean;
}

/** Every name that is listed, with the URI of the tool that has it (RES-3, RES-6). */
export function predict({ workdir, home, config, registered }: Situation): Record<string, string> {
  const { directories, isIgnored } = searchPath(workdir, home, config);
  const found: [string, string][] = [...registered.keys()].map((name) => [name, `inline://${name}`]);
  for (const directory of directories) {
    for (const entry of entriesOf(directory).filter((name) => !isIgnored(directory, name))) {
      const file = join(directory, entry, 'tools.json');
      for (const name of declaredIn(file)) found.push([name, pathToFileURL(file).href]);
    }
  }
  for (const directory of [join(workdir, '.agents/tools'), join(home, '.agents/tools')]) {
    for (const entry of entriesOf(directory)) {
      if (isScript(join(directory, entry), entry)) found.push([entry, pathToFileURL(join(directory, entry)).href]);
    }
  }
  const winners = new Map<string, string>();
  // Built-in names are reserved, and none of them is offered where no skill is.
  for (const [name, uri] of found) {
    const isReserved = (name === 'workdir' || name === 'read_skill') && !registered.has(name);
    if (!winners.has(name) && !isReserved) winners.set(name, uri);
  }
  return Object.fromEntries(winners);
}

function searchPath(workdir: string, home: string, config: string): SearchPath {
  const standard = [
    join(workdir, '.agents/skills'),
    join(workdir, 'skills'),
    join(workdir, 'tools'),
    join(home, '.agents/skills'),
  ];
  const always = new Set(['node_modules', '.git', 'dist', '.cache']);
  const isIgnored: SearchPath['isIgnored'] = (_directory, entry) => entry.startsWith('.') || always.has(entry);
  switch (config) {
    case CONFIGS.extended:
      return { directories: [...standard, join(workdir, 'lib'), join(home, 'shared')], isIgnored };
    case CONFIGS.before:
      return { directories: [join(home, 'shared'), ...standard], isIgnored };
    case CONFIGS.replaced:
      return { directories: [join(workdir, 'lib'), join(workdir, 'skills')], isIgnored };
    case CONFIGS.empty:
      return { directories: [], isIgnored };
    case CONFIGS.ignoring:
      return {
        directories: standard,
        isIgnored: (directory, entry) =>
          isIgnored(directory, entry) ||
          entry.startsWith('draft-') ||
          (directory === join(workdir, 'skills') && entry === 'two'),
      };
    default:
      return { directories: standard, isIgnored };
  }
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}

function declaredIn(file: string): string[] {
  try {
    const { tools } = JSON.parse(readFileSync(file, 'utf8')) as { tools: { name: string }[] };
    return tools.map(({ name }) => name);
  } catch {
    return [];
  }
}

function isScript(path: string, name: string): boolean {
  try {
    const stats = statSync(path);
    const isUsable = stats.isFile() && (stats.mode & 0o111) !== 0 && /^\w[\w-]*$/.test(name);
    return isUsable && /^#!\/.*\n(?:#.*\n)*# @description /.test(readFileSync(path, 'utf8'));
  } catch {
    return false;
  }
}
