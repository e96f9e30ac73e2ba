// View of one directory with one format: cached, and compared with the files on every use.

import type { FormatSnapshot } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Tool } from '../core/tool.js';
import { createDirectoryCache, type DirectoryOptions } from './directory-cache.js';
import type { DirectoryListing, Entry } from './entry.js';
import { createDirectoryReader } from './read-directory.js';

export interface Directory {
  /** Whether its tools give way to those of other formats. */
  readonly yields: boolean;
  list(snapshot: FormatSnapshot): DirectoryListing;
  /** Returns the tool of a name, the problem of the entry that has the name, or undefined. */
  find(name: string, snapshot: FormatSnapshot): Tool | Problem | undefined;
  /** Returns the names of entries that can belong to the format, sorted; reads no entry. */
  names(): readonly string[];
  /** Reads an entry; undefined if it does not belong to the format. */
  at(entry: string, snapshot?: FormatSnapshot): Entry['reading'];
  /** Clears what is cached in memory and in the index; with a name, only if a tool of that name is cached here. */
  forget(tool?: string): void;
}

export function createDirectory(options: DirectoryOptions): Directory {
  const { place, format, world } = options;
  const reader = createDirectoryReader(options);
  const cache = createDirectoryCache(options, reader);

  const toolIn = (entry: string | undefined, tool: string, snapshot: FormatSnapshot): Tool | undefined =>
    entry === undefined
      ? undefined
      : cache.findEntry(entry, snapshot)?.reading?.tools.find((candidate) => candidate.name === tool);

  // For formats whose tool names differ from their entries (RES-7).
  const findDeclared = (name: string, snapshot: FormatSnapshot): Tool | undefined => {
    const entry = cache.entryDeclaring(name, snapshot);
    const tool = toolIn(entry, name, snapshot);
    if (entry === undefined || tool !== undefined) return tool;
    // The index was wrong (RES-4).
    world.debug(`${place.directory}: the index on disk is wrong, rebuilding it`);
    cache.clear();
    return toolIn(cache.entryDeclaring(name, snapshot), name, snapshot);
  };

  return {
    yields: format.yields ?? false,
    list: cache.list,
    find(name, snapshot) {
      if (format.entryOf === undefined) return findDeclared(name, snapshot);
      const entry = format.entryOf(name);
      if (!reader.claims(entry)) return undefined;
      const reading = cache.findEntry(entry, snapshot)?.reading;
      return (
        reading?.tools.find((candidate) => candidate.name === name) ??
        reading?.problems.find((candidate) => candidate.severity === 'error')
      );
    },
    names: reader.names,
    at: (entry, snapshot) => (reader.claims(entry) ? cache.findEntry(entry, snapshot)?.reading : undefined),
    forget(tool) {
      if (tool === undefined || cache.contains(tool)) cache.clear();
    },
  };
}
