// View of one directory with one format: cached, and compared with the files on every use.

import type { Problem } from '../core/problem.js';
import type { Tool } from '../core/tool.js';
import { createDirectoryCache, type DirectoryOptions } from './directory-cache.js';
import type { DirectoryListing, Entry } from './entry.js';
import { createDirectoryReader } from './read-directory.js';

export interface Directory {
  /** Whether its tools give way to those of other formats. */
  readonly yields: boolean;
  list(): DirectoryListing;
  /** Returns the tool of a name, the problem of the entry that has the name, or undefined. */
  find(name: string): Tool | Problem | undefined;
  /** Returns the names of entries that can belong to the format, sorted; reads no entry. */
  names(): readonly string[];
  /** Reads an entry; undefined if it does not belong to the format. */
  at(entry: string): Entry['reading'];
  /** Clears what is cached in memory and in the index; with a name, only if a tool of that name is cached here. */
  forget(tool?: string): void;
}

export function createDirectory(options: DirectoryOptions): Directory {
  const { place, format, world } = options;
  const reader = createDirectoryReader(options);
  const cache = createDirectoryCache(options, reader);

  const toolIn = (entry: string | undefined, tool: string): Tool | undefined =>
    entry === undefined
      ? undefined
      : cache.findEntry(entry)?.reading?.tools.find((candidate) => candidate.name === tool);

  // For formats whose tool names differ from their entries (RES-7).
  const findDeclared = (name: string): Tool | undefined => {
    const entry = cache.entryDeclaring(name);
    const tool = toolIn(entry, name);
    if (entry === undefined || tool !== undefined) return tool;
    // The index was wrong (RES-4).
    world.debug(`${place.directory}: the index on disk is wrong, rebuilding it`);
    cache.clear();
    return toolIn(cache.entryDeclaring(name), name);
  };

  return {
    yields: format.yields ?? false,
    list: cache.list,
    find(name) {
      if (format.entryOf === undefined) return findDeclared(name);
      const entry = format.entryOf(name);
      if (!reader.claims(entry)) return undefined;
      const reading = cache.findEntry(entry)?.reading;
      return (
        reading?.tools.find((candidate) => candidate.name === name) ??
        reading?.problems.find((candidate) => candidate.severity === 'error')
      );
    },
    names: reader.names,
    at: (entry) => (reader.claims(entry) ? cache.findEntry(entry)?.reading : undefined),
    forget(tool) {
      if (tool === undefined || cache.contains(tool)) cache.clear();
    },
  };
}
