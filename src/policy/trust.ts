// Trust in workspaces: recorded with the user's state, by real path, never in the checkout (POL-20).

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { type FileIdentity, sameIdentity } from '../core/tool.js';
import { readTextFile, statIdentity } from '../files/read.js';
import { realPath } from '../files/within.js';
import { writeFileAtomic } from '../files/write.js';

export interface TrustedWorkspace {
  readonly directory: string;
  readonly since: string;
  /** The files that decide what may run, as they were: a change asks again. Null: there was none. */
  readonly files: Readonly<Record<string, string | null>>;
}

export interface TrustChange {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

export interface TrustStore {
  list(): readonly TrustedWorkspace[];
  isTrusted(directory: string): boolean;
  /** What changed since a workspace was trusted; empty where nothing did or it never was. */
  changes(directory: string): readonly TrustChange[];
  trust(directory: string, now: Date): TrustedWorkspace;
  /** Whether there was something to revoke. */
  revoke(directory: string): boolean;
}

const DECIDING_FILES = ['.mcp.json', '.agents/mcp.json', '.agents/config.toml'];

export function createTrustStore(wieldHome: string): TrustStore {
  const file = join(wieldHome, 'trust.json');
  let known: { states: (FileIdentity | undefined)[]; directory: string; trusted: boolean } | undefined;

  const read = (): Map<string, TrustedWorkspace> => {
    const text = readTextFile(file);
    return text === undefined ? new Map() : parseRecord(text, file);
  };
  const write = (workspaces: ReadonlyMap<string, TrustedWorkspace>): void => {
    const document = { version: 1, workspaces: [...workspaces.values()] };
    writeFileAtomic(file, `${JSON.stringify(document, null, 2)}\n`);
  };
  const find = (directory: string): TrustedWorkspace | undefined => {
    const real = realPath(directory);
    return real === undefined ? undefined : read().get(real);
  };
  const changes = (directory: string): TrustChange[] => {
    const workspace = find(directory);
    if (workspace === undefined) return [];
    return DECIDING_FILES.map((name) => ({
      file: name,
      before: workspace.files[name] ?? '',
      after: readDeciding(workspace.directory, name) ?? '',
    })).filter(({ before, after }) => before !== after);
  };

  return {
    list: () => [...read().values()],
    changes,
    isTrusted(named) {
      // The real path at each look: a link may lead elsewhere by now.
      const directory = realPath(named);
      if (directory === undefined) return false;
      // Asked at every call: the files are read again only where one of them changed.
      const states = [file, ...DECIDING_FILES.map((name) => join(directory, name))].map((path) =>
        statIdentity(path),
      );
      if (
        known?.directory === directory &&
        known.states.every((state, at) => sameIdentity(state, states[at]))
      ) {
        return known.trusted;
      }
      let trusted = false;
      try {
        trusted = find(directory) !== undefined && changes(directory).length === 0;
      } catch {
        // A record or a file that cannot be read trusts nothing.
      }
      known = { states, directory, trusted };
      return trusted;
    },
    trust(directory, now) {
      const real = realPath(directory);
      if (real === undefined) {
        throw new ToolError('not_found', `there is no directory ${directory}`, {
          hint: 'name one that exists',
        });
      }
      const files = Object.fromEntries(DECIDING_FILES.map((name) => [name, readDeciding(real, name)]));
      const workspace: TrustedWorkspace = { directory: real, since: now.toISOString(), files };
      write(read().set(real, workspace));
      known = undefined;
      return workspace;
    },
    revoke(directory) {
      const workspaces = read();
      if (!workspaces.delete(realPath(directory) ?? directory)) return false;
      write(workspaces);
      known = undefined;
      return true;
    },
  };
}

function parseRecord(text: string, file: string): Map<string, TrustedWorkspace> {
  let workspaces: unknown;
  try {
    const document = JSON.parse(text) as unknown;
    workspaces = isRecord(document) ? document.workspaces : undefined;
  } catch {
    workspaces = undefined;
  }
  if (!Array.isArray(workspaces)) {
    throw new ToolError('io', `${file} cannot be read as a record of trust`, {
      hint: 'move it away and trust your workspaces again',
    });
  }
  const usable = workspaces.filter(
    (entry): entry is TrustedWorkspace =>
      isRecord(entry) && typeof entry.directory === 'string' && isRecord(entry.files),
  );
  return new Map(usable.map((workspace) => [workspace.directory, workspace]));
}

function readDeciding(directory: string, name: string): string | null {
  return readTextFile(join(directory, name)) ?? null;
}
