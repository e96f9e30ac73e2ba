// What planning a script and planning a command have in common.

import { statSync } from 'node:fs';
import { ToolError } from '../../core/error.js';
import type { Settings } from '../../core/settings.js';
import type { Tool } from '../../core/tool.js';

/** Variables that the configuration passes on to a tool. */
export function grantsOf(tool: Tool, settings: Settings): readonly string[] {
  return [...settings.env.pass, ...(settings.tools.get(tool.name)?.pass ?? [])];
}

/** Throws where a directory that something should run in is gone. */
export function assertDirectory(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new ToolError('exec_failed', `there is no directory ${directory} to run in`, {
    hint: 'name another with --cwd DIR',
  });
}
