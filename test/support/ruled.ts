// Toolboxes under rules of the configuration, and what becomes of a call there.

import { expect } from 'vitest';
import type { Json } from '../../src/core/json.js';
import { type Caller, defineTool, type ToolDefinition } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { createWorkspace, type Workspace } from './workspace.js';

export const MODEL: Caller = { kind: 'model', door: 'mcp' };
export const PERSON: Caller = { kind: 'person', door: 'cli' };

/** A tool that says that it ran. */
export const tool = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition =>
  defineTool({
    name,
    description: `The tool ${name}.`,
    inputSchema: {
      type: 'object',
      properties: { op: { type: 'string' }, force: { type: 'boolean' }, allowedTools: { type: 'string' } },
    },
    execute: () => `${name} ran`,
    ...more,
  });

/** Texts of the user's and the project's file. */
export interface Files {
  readonly user?: string;
  readonly project?: string;
}

/** A toolbox with these tools under these files. */
export function ruled(files: Files, tools: readonly ToolDefinition[]): NodeToolbox {
  return write(createWorkspace(), files).toolbox({ tools, trust: true });
}

/** Writes these files. */
export function write(workspace: Workspace, { user, project }: Files): Workspace {
  if (user !== undefined) workspace.config(user);
  if (project !== undefined) workspace.write('.agents/config.toml', project);
  return workspace;
}

/** The line of an `allowed-tools`. */
export const list = (...selectors: string[]): string =>
  `allowed-tools = ${JSON.stringify(selectors.join(' '))}\n`;
/** The lines of `trust.rules`. */
export const trust = (...selectors: string[]): string =>
  `[trust]\nrules = ${JSON.stringify(selectors.join(' '))}\n`;

/** What becomes of a call: `allow` where it ran, `ask` or `deny` where it did not. */
export async function outcome(toolbox: NodeToolbox, name: string, input: Json = {}, caller?: Caller) {
  const result = await toolbox.call(name, input, caller === undefined ? {} : { caller });
  if (result.ok) return 'allow';
  if (result.error!.code === 'needs_approval') return 'ask';
  expect(result.error!.code).toBe('denied');
  return 'deny';
}
