// Workspaces with module files, trusted by default.

import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { processesWith, sleep } from './processes.js';
import { trustNow } from './trusted.js';
import { createWorkspace, type Workspace } from './workspace.js';

export interface ModuleWorkspace extends Workspace {
  /** Writes a file into `.agents/tools` and returns its path. */
  module(name: string, text: string): string;
  trust(): void;
}

export function createModuleWorkspace({ trusted = true } = {}): ModuleWorkspace {
  const workspace = createWorkspace();
  const trust = (): void => trustNow(workspace);
  // Directories of tools that appear later would end the trust.
  const places = ['.agents', 'skills', 'tools'].map((name) => join(workspace.dir, name));
  if (trusted) {
    for (const place of places) mkdirSync(place);
    trust();
    for (const place of places) rmdirSync(place);
  }
  return { ...workspace, trust, module: (name, text) => workspace.write(`.agents/tools/${name}`, text) };
}

/** A module in JavaScript with one tool, whose function is given as text. */
export function moduleText(name: string, execute: string, before = ''): string {
  return `${before}
export const tool = {
  name: '${name}',
  description: 'About ${name}.',
  inputSchema: { type: 'object', additionalProperties: true },
  execute: ${execute},
};
`;
}

/** A statement that never ends, without using the processor. */
export const BLOCK = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';

/** A module whose tool tells the process it runs in. */
export const PID = moduleText('pid', '() => process.pid');
/** One whose tool takes `ms`, minds its signal, and then tells the same. */
export const SLOW = moduleText(
  'slow',
  `async (input, { signal }) => {
    await new Promise((resolve, reject) => {
      setTimeout(resolve, input.ms);
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    });
    return process.pid;
  }`,
);

/** The tool hosts of a workspace: they have its cache on their command line. */
export const hostsOf = (workspace: ModuleWorkspace): number[] =>
  processesWith(join(workspace.env.WIELD_HOME!, 'cache', 'modules'));

/** Waits for the last of them to be gone. */
export async function untilNoHost(workspace: ModuleWorkspace): Promise<void> {
  for (let waited = 0; hostsOf(workspace).length > 0 && waited < 1200; waited++) await sleep(50);
  expect(hostsOf(workspace)).toEqual([]);
}
