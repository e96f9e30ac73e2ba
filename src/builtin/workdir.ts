// The built-in tool `workdir`: tells the directory that scripts run in, or moves it within the allowed roots.

import { isAbsolute, resolve } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Tool } from '../core/tool.js';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';
import { toTool } from '../formats/module/define.js';
import { toBuiltin } from './builtin.js';

export interface WorkdirToolOptions {
  readonly get: () => string;
  readonly set: (directory: string) => void;
  /** Directories that it may move within. */
  readonly roots: () => readonly string[];
}

export function createWorkdirTool({ get, set, roots }: WorkdirToolOptions): Tool {
  const tool = toTool({
    name: 'workdir',
    description:
      'Tell the working directory of local tools, or change it to another one below the allowed roots.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'Directory to move to; left out: only tell' } },
    },
    execute: ({ path }: { path?: string }) => {
      if (path !== undefined) set(resolveWithin(isAbsolute(path) ? path : resolve(get(), path), roots()));
      return get();
    },
  });
  return toBuiltin(tool);
}

// SCR-22: decided on real paths, so that no link leads out.
function resolveWithin(path: string, roots: readonly string[]): string {
  const real = realPath(path);
  if (real === undefined || statOrNothing(real)?.isDirectory() !== true) {
    throw new ToolError('not_found', `there is no directory ${path}`, { hint: 'name one that exists' });
  }
  if (roots.some((root) => isWithin(realPath(root) ?? root, real))) return real;
  throw new ToolError('path_escape', `${path} is outside the directories that the configuration allows`, {
    hint: `stay below ${roots.join(', ')}; the user's configuration can add more:  [workdir]  roots = ["…"]`,
  });
}
