// Shared by the planning of scripts and commands.

import { statSync } from 'node:fs';
import { ToolError } from '../../core/error.js';
import type { Settings } from '../../core/settings.js';
import type { Tool } from '../../core/tool.js';

/** Returns the names of variables that the configuration passes on to a tool. */
export function grantsOf(tool: Tool, settings: Settings): readonly string[] {
  return [...settings.env.pass, ...(settings.tools.get(tool.name)?.pass ?? [])];
}

/** Throws `exec_failed` if the directory to run in does not exist. */
export function assertDirectory(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new ToolError('exec_failed', `directory not found: ${directory}`, {
    hint: 'use another with --cwd DIR',
  });
}
