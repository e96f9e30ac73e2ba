// Trusted workspaces: recorded in the wield home by real path, never in the checkout (POL-20).

import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { orNothing, ToolError } from '../core/error.js';
import { anything, type Infer, list, matches, nullable, object, optional, record, string } from '../core/shape.js';
import { changeFile } from '../files/change.js';
import { entriesOf } from '../files/list.js';
import { createStatCache, type FileText, readStateFile, readTextFile, statOrNothing } from '../files/read.js';
import { readState } from '../files/state.js';
import { isWithin, realPath } from '../files/within.js';

const WORKSPACE = object(
  {
    directory: string,
    since: string,
    /** Contents of the files that decide what may run; a change asks again. Null: the file did not exist. */
    files: record(nullable(string)),
    /** Real paths of the directories of tools, and of links in them. */
    places: optional(record(nullable(string))),
  },
  { unknown: 'keep' },
);
const FILE = object({ workspaces: list(anything) }, { unknown: 'drop' });

export type TrustedWorkspace = Infer<typeof WORKSPACE>;

export interface TrustChange {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

export type TrustStore = ReturnType<typeof createTrustStore>;

const DECIDING_FILES = ['.mcp.json', '.agents/mcp.json', '.agents/config.toml'];
// Directories of tools: one that appears, or leads elsewhere, was not there to be read when the workspace was trusted.
const PLACES = ['.agents', 'skills', 'tools'];
// Directories below them may appear, but not lead out of the workspace.
const INNER_PLACES = ['.agents/tools', '.agents/skills'];

export function createTrustStore(wieldHome: string, now: () => number) {
  const file = join(wieldHome, 'trust.json');
  const cache = createStatCache<TrustedWorkspace | undefined>({ now, isState: (path) => path === file });

  const read = (): Map<string, TrustedWorkspace> => {
    const text = readStateFile(file);
    return text === undefined ? new Map() : parseRecord(text, file);
  };
  // Returns what `change` returns; false leaves the file as it is.
  const update = async <T>(
    change: (workspaces: Map<string, TrustedWorkspace>) => T | false | Promise<T | false>,
  ): Promise<T | false> => {
    let result: T | false = false;
    await changeFile(file, { doing: 'changing the trusted workspaces' }, async (text) => {
      const workspaces = text === undefined ? new Map<string, TrustedWorkspace>() : parseRecord(text, file);
      result = await change(workspaces);
      if (result === false) return undefined;
      return `${JSON.stringify({ version: 1, workspaces: [...workspaces.values()] }, null, 2)}\n`;
    });
    return result;
  };
  const find = (directory: string): TrustedWorkspace | undefined => {
    const real = realPath(directory);
    return real === undefined ? undefined : read().get(real);
  };
  const isRecorded = (directory: string): boolean => {
    // An unreadable record trusts nothing.
    return orNothing(() => find(directory) !== undefined) ?? false;
  };
  const changes = (directory: string): readonly TrustChange[] => {
    const workspace = find(directory);
    if (workspace === undefined) return [];
    const files = DECIDING_FILES.map((name) => ({
      file: name,
      before: workspace.files[name] ?? '',
      after: readDeciding(workspace.directory, name) ?? '',
    })).filter(({ before, after }) => before !== after);
    const places = newPlaces(workspace).map(([name, before]) => ({
      file: name,
      before: before ?? '',
      after: realPath(join(workspace.directory, name)) ?? '',
    }));
    return [...files, ...places];
  };

  const isTrusted = (named: string): boolean => {
    // Resolved on every call, because links can change.
    const directory = realPath(named);
    if (directory === undefined) return false;
    const files = [file, ...DECIDING_FILES.map((name) => join(directory, name))];
    const unchanged = cache.get(directory, files, ([record, ...texts]) => {
      // Throws, so that the reason is shown.
      if (typeof record === 'object' && record.fault === 'unsafe') readStateFile(file);
      if (typeof record !== 'string') return undefined;
      try {
        const workspace = parseRecord(record, file).get(directory);
        const isUnchanged = DECIDING_FILES.every((name, at) => isSame(workspace?.files[name], texts[at]));
        return isUnchanged ? workspace : undefined;
      } catch {
        // An unreadable record trusts nothing.
        return undefined;
      }
    });
    return unchanged !== undefined && newPlaces(unchanged).length === 0;
  };

  return {
    list: (): readonly TrustedWorkspace[] => [...read().values()],
    /** Returns what changed since a workspace was trusted; empty if it never was. */
    changes,
    isTrusted,
    /** Whether a workspace was trusted, also if something changed since. */
    isRecorded,
    async trust(directory: string, at: Date): Promise<TrustedWorkspace> {
      const workspace = describeWorkspace(directory, at);
      await update((workspaces) => workspaces.set(workspace.directory, workspace));
      return workspace;
    },
    /** Whether a directory has no file or directory that trust is about. */
    isEmpty: (directory: string): boolean =>
      [...DECIDING_FILES, ...PLACES].every((name) => !isThere(join(directory, name))),
    /** Returns whether the workspace was trusted. */
    async revoke(directory: string): Promise<boolean> {
      return update((workspaces) => workspaces.delete(realPath(directory) ?? directory));
    },
    /** Runs a confirmed change of the files of a workspace; if it was trusted, it is trusted with the changed files. */
    async keep<T>(directory: string, at: Date, change: () => Promise<T>): Promise<T> {
      if (!isRecorded(directory)) return change();
      let result: T;
      // Before and after under one lock: another process may revoke the trust, or change the same files.
      await update(async (workspaces) => {
        const wasTrusted = isTrusted(directory);
        result = await change();
        if (!wasTrusted) return false;
        const workspace = describeWorkspace(directory, at);
        return workspaces.set(workspace.directory, workspace);
      });
      return result!;
    },
  };
}

/** Describes a workspace as it is now. Throws `not_found`. */
export function describeWorkspace(directory: string, at: Date): TrustedWorkspace {
  const real = realPath(directory);
  if (real === undefined) {
    throw new ToolError('not_found', `directory not found: ${directory}`, {
      hint: 'pass an existing directory',
    });
  }
  const files = Object.fromEntries(DECIDING_FILES.map((name) => [name, readDeciding(real, name)]));
  const places = Object.fromEntries(
    [...PLACES, ...INNER_PLACES, ...findLinks(real)].map((name) => [name, realPath(join(real, name)) ?? null]),
  );
  return { directory: real, since: at.toISOString(), files, places };
}

function parseRecord(text: string, file: string): Map<string, TrustedWorkspace> {
  const { workspaces } = readState(FILE, text, file, () => {
    const hint = 'move it away and trust your workspaces again';
    return new ToolError('io', `${file} is not a valid trust file`, { hint });
  });
  // One that is damaged is not trusted, and the others stay.
  const usable = workspaces.filter((entry) => matches(WORKSPACE, entry));
  return new Map(usable.map((workspace) => [workspace.directory, workspace]));
}

// Links among tools and skills: a link on the way to a file can lead elsewhere without a change of the place.
function findLinks(directory: string): string[] {
  return [...PLACES, ...INNER_PLACES].flatMap((place) =>
    entriesOf(join(directory, place)).flatMap((entry) => (entry.isSymbolicLink() ? `${place}/${entry.name}` : [])),
  );
}

// What is gone offers nothing.
function newPlaces({ directory, places = {} }: TrustedWorkspace): [string, string | null][] {
  const changed = (name: string): boolean => {
    const path = join(directory, name);
    if (statOrNothing(path) === undefined) return false;
    const real = realPath(path);
    if (real === places[name]) return false;
    if (PLACES.includes(name)) return true;
    // What is outside of the workspace changes by installing. What is in it may have been exchanged by a tool.
    const isInside = real !== undefined && isWithin(directory, real);
    return INNER_PLACES.includes(name) ? !isInside || places[name] != null : isInside;
  };
  const names = new Set([...Object.keys(places), ...INNER_PLACES]);
  return [...names].filter(changed).map((name) => [name, places[name] ?? null]);
}

// Also of a link that leads nowhere yet.
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isSame(before: string | null | undefined, text: FileText): boolean {
  if (typeof text === 'object' && text.fault !== 'dangling-link') return false;
  return (before ?? '') === (typeof text === 'string' ? text : '');
}

function readDeciding(directory: string, name: string): string | null {
  return readTextFile(join(directory, name)) ?? null;
}
