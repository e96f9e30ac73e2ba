// Trust in workspaces: recorded with the user's state, by real path, never in the checkout.

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { readTextFile } from '../files/read.js';
import { realPath } from '../files/within.js';
import { writeFileAtomic } from '../files/write.js';

export interface TrustedWorkspace {
  readonly directory: string;
  readonly since: string;
}

export interface TrustStore {
  list(): readonly TrustedWorkspace[];
  isTrusted(directory: string): boolean;
  trust(directory: string, now: Date): TrustedWorkspace;
  /** Whether there was something to revoke. */
  revoke(directory: string): boolean;
}

export function createTrustStore(wieldHome: string): TrustStore {
  const file = join(wieldHome, 'trust.json');

  const read = (): Map<string, TrustedWorkspace> => {
    const text = readTextFile(file);
    if (text === undefined) return new Map();
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
    return new Map(
      workspaces
        .filter((entry) => isRecord(entry) && typeof entry.directory === 'string')
        .map((entry) => [entry.directory as string, entry as TrustedWorkspace]),
    );
  };
  const write = (workspaces: ReadonlyMap<string, TrustedWorkspace>): void => {
    writeFileAtomic(
      file,
      `${JSON.stringify({ version: 1, workspaces: [...workspaces.values()] }, null, 2)}\n`,
    );
  };

  return {
    list: () => [...read().values()],
    isTrusted(directory) {
      const real = realPath(directory);
      try {
        return real !== undefined && read().has(real);
      } catch {
        // A record that cannot be read trusts nothing.
        return false;
      }
    },
    trust(directory, now) {
      const real = realPath(directory);
      if (real === undefined) {
        throw new ToolError('not_found', `there is no directory ${directory}`, {
          hint: 'name one that exists',
        });
      }
      const entry = { directory: real, since: now.toISOString() };
      write(read().set(real, entry));
      return entry;
    },
    revoke(directory) {
      const workspaces = read();
      if (!workspaces.delete(realPath(directory) ?? directory)) return false;
      write(workspaces);
      return true;
    },
  };
}
