// Toolboxes with configured rules, and the outcome of a call.

import { expect } from 'vitest';
import type { Json } from '../../src/core/json.js';
import { type Caller, defineTool, type ToolDefinition } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { createWorkspace, type Workspace } from './workspace.js';

export const MODEL: Caller = { kind: 'model', door: 'mcp' };
export const PERSON: Caller = { kind: 'person', door: 'cli' };

/** Creates a tool that reports that it ran. */
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

/** Creates a toolbox with these tools and configuration files. */
export function ruled(files: Files, tools: readonly ToolDefinition[]): NodeToolbox {
  return write(createWorkspace(), files).toolbox({ tools, trust: true });
}

/** Writes these files. */
export function write(workspace: Workspace, { user, project }: Files): Workspace {
  if (user !== undefined) workspace.config(user);
  if (project !== undefined) workspace.write('.agents/config.toml', project);
  return workspace;
}

/** Returns the line of an `allowed-tools`. */
export const list = (...selectors: string[]): string => `allowed-tools = ${JSON.stringify(selectors.join(' '))}\n`;
/** Returns the lines of `trust.rules`. */
export const trust = (...selectors: string[]): string => `[trust]\nrules = ${JSON.stringify(selectors.join(' '))}\n`;

/** Returns the outcome of a call: `allow` if it ran, else `ask` or `deny`. */
export async function outcome(toolbox: NodeToolbox, name: string, input: Json = {}, caller?: Caller) {
  const result = await toolbox.call(name, input, caller === undefined ? {} : { caller });
  if (result.ok) return 'allow';
  if (result.error!.code === 'needs_approval') return 'ask';
  expect(result.error!.code).toBe('denied');
  return 'deny';
}
