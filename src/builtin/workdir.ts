// The built-in tool `workdir`: shows the directory that scripts run in, or changes it within the allowed roots.

import { isAbsolute, resolve } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Workspace } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';
import { toTool } from '../formats/module/define.js';
import { type BuiltinFunction, toBuiltin } from './builtin.js';

export function createWorkdirTool({ setWorkdir }: Pick<Workspace, 'setWorkdir'>): Tool {
  const execute: BuiltinFunction<{ path?: string }> = ({ path }, _context, internals) => {
    const { workdir, roots } = internals!.snapshot;
    if (path === undefined) return workdir;
    const directory = resolveWithin(isAbsolute(path) ? path : resolve(workdir, path), roots);
    setWorkdir(directory);
    return directory;
  };
  const tool = toTool({
    name: 'workdir',
    description:
      'Tell the working directory of local tools, or change it to another one below the allowed roots.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'Directory to move to; left out: only tell' } },
    },
    execute,
  });
  return toBuiltin(tool);
}

// SCR-22: checks real paths, so that no link leads out.
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
