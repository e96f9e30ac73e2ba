// Moves an item that is in an agent home, and not installed, into a source.

import { lstatSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import { namesIn } from '../files/list.js';
import { removeTree } from '../files/remove.js';
import { copyTree, listTree, readTreeFile, writeTreeFile } from '../files/tree.js';
import { isForeign } from './apply/changes.js';
import { isDirectory, isOccupied } from './directory.js';
import type { InstallEnvironment } from './environment.js';
import { findNameFault, type ItemKind, isDirectoryKind } from './manifest/item-name.js';
import { splitKind } from './plan/select.js';

export interface UnmanagedItem {
  readonly kind: ItemKind;
  readonly name: string;
  /** Where it is, in every agent home that has it. */
  readonly paths: readonly string[];
}

/** Lists the skills, agents and rules in the agent homes that wield did not link. */
function findUnmanaged({ homes, paths }: InstallEnvironment): UnmanagedItem[] {
  const found = new Map<string, UnmanagedItem>();
  for (const home of homes)
    for (const kind of ['skill', 'agent', 'rule'] as const)
      for (const entry of namesIn(join(home, `${kind}s`))) {
        const path = join(home, `${kind}s`, entry);
        const name = isDirectoryKind(kind) ? entry : entry.replace(/\.md$/, '');
        const fits = isDirectoryKind(kind) ? isDirectory(path) : entry.endsWith('.md');
        // A link belongs to another program.
        if (!fits || findNameFault(name) !== undefined || !isForeign(path, paths) || lstatSync(path).isSymbolicLink())
          continue;
        const key = `${kind}:${name}`;
        found.set(key, { kind, name, paths: [...(found.get(key)?.paths ?? []), path] });
      }
  return [...found.values()];
}

/** Finds one by `name` or `kind:name`. Throws `not_found` or `ambiguous`. */
export function findUnmanagedItem(ref: string, environment: InstallEnvironment): UnmanagedItem {
  const { kind, rest } = splitKind(ref);
  const all = findUnmanaged(environment);
  const matching = all.filter((item) =>
    kind === undefined ? item.name === ref : item.kind === kind && item.name === rest,
  );
  if (matching.length === 1) return matching[0]!;
  const known = (matching.length > 1 ? matching : all).map((item) => `${item.kind}:${item.name}`).join(', ');
  throw new ToolError(
    matching.length > 1 ? 'ambiguous' : 'not_found',
    `${quoteOutside(ref, 80)} ${matching.length > 1 ? 'is several items' : 'is not an item of an agent home that wield did not install'}`,
    { hint: known === '' ? 'everything in the agent homes is installed' : `write one of ${known}` },
  );
}

/** Copies an item to its usual path in a source and returns that path. Throws `conflict` if there is one, unless `force`. */
export function copyToSource({ kind, name, paths: [from] }: UnmanagedItem, source: string, force: boolean): string {
  const to = join(source, `${kind}s`, isDirectoryKind(kind) ? name : `${name}.md`);
  if (isOccupied(to) && !force)
    throw new ToolError('conflict', `${to} already exists`, { hint: 'pass --force to overwrite it' });
  removeTree(to);
  if (isDirectoryKind(kind)) copyTree(from!, listTree(from!), to);
  else {
    copyTree(dirname(from!), [], dirname(to));
    writeTreeFile(to, readTreeFile(dirname(from!), basename(from!)), false);
  }
  return to;
}
