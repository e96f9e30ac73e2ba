// Managed files of the machine for one test, in a directory of its own instead of /etc/wield.

import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MANAGED } from '../../src/config/managed.js';
import { createWorkspace, type Workspace } from './workspace.js';

const { directory: real } = MANAGED;
const replaced = new AsyncLocalStorage<string>();
Object.defineProperty(MANAGED, 'directory', { get: () => replaced.getStore() ?? real });

export interface ManagedWorkspace extends Workspace {
  /** The directory of the managed files. */
  readonly managed: string;
  /** Writes a managed file and returns its path. */
  manage(name: string, text: string): string;
}

/** Runs a test with a workspace on a machine that has these managed files; a text is `config.toml`. */
export async function withManaged(
  files: string | Readonly<Record<string, string>>,
  body: (workspace: ManagedWorkspace) => Promise<void>,
): Promise<void> {
  const workspace = createWorkspace();
  const managed = join(dirname(workspace.dir), 'managed');
  const manage = (name: string, text: string): string => {
    const path = join(managed, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  for (const [name, text] of Object.entries(typeof files === 'string' ? { 'config.toml': files } : files))
    manage(name, text);
  await replaced.run(managed, () => body({ ...workspace, managed, manage }));
}
