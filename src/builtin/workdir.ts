// The built-in tool `workdir`: shows the directory that scripts run in, or changes it within the allowed roots.

import { ToolError } from '../core/error.js';
import type { Workspace } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { canonicalPath, containedPath } from '../files/contained-path.js';
import { statOrNothing } from '../files/read.js';
import { defineBuiltin } from '../formats/module/builtin.js';

export function createWorkdirTool({ setWorkdir }: Pick<Workspace, 'setWorkdir'>): Tool {
  return defineBuiltin<{ path?: string }>({
    name: 'workdir',
    description: 'Tell the working directory of local tools, or change it to another one below the allowed roots.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Directory to change to; without it the current one is shown' },
      },
    },
    run({ path }, _context, { snapshot: { workdir, roots } }) {
      if (path === undefined) return workdir;
      const directory = resolveWithin(path, workdir, roots);
      setWorkdir(directory);
      return directory;
    },
  });
}

// SCR-22
function resolveWithin(path: string, workdir: string, roots: readonly string[]): string {
  const canonical = canonicalPath(path, workdir);
  if (canonical === undefined || statOrNothing(canonical)?.isDirectory() !== true) {
    throw new ToolError('not_found', `directory not found: ${path}`, { hint: 'use an existing directory' });
  }
  const contained = containedPath(canonical, { base: workdir, roots });
  if (contained !== undefined) return contained;
  throw new ToolError('path_escape', `${path} is outside the directories that the configuration allows`, {
    hint: `allowed: below ${roots.join(', ')}; add more in the user's configuration: [workdir] roots = ["…"]`,
  });
}
